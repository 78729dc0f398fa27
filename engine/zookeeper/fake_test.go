package zookeeper_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A fake is a server that accepts every session, and answers each request with an error
// code. It stands for servers with settings that the tests' version lacks.
type fake struct {
	listener net.Listener
	answer   func(operation int32) (code int32)
	running  sync.WaitGroup

	mu       sync.Mutex
	conns    []net.Conn
	accepted []time.Time // when the connections came
}

// The operation that sends a user, and codes of the protocol.
const (
	authOperation = 100

	noAuth        = -102
	authFailed    = -115
	saslRequired  = -124
	quotaExceeded = -125
	throttled     = -127
)

func startFake(t testing.TB, answer func(operation int32) (code int32)) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{listener: l, answer: answer}
	f.running.Go(f.accept)
	t.Cleanup(func() {
		_ = l.Close()
		f.mu.Lock()
		for _, conn := range f.conns {
			_ = conn.Close()
		}
		f.mu.Unlock()
		f.running.Wait()
	})
	return f
}

// url returns the address of the server, with a user.
func (f *fake) url() string { return "zk://shop:secret@" + f.listener.Addr().String() }

// connections returns when each connection came.
func (f *fake) connections() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]time.Time(nil), f.accepted...)
}

func (f *fake) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.conns, f.accepted = append(f.conns, conn), append(f.accepted, time.Now())
		f.mu.Unlock()
		f.running.Go(func() { f.serve(conn) })
	}
}

// serve accepts a session and answers its requests. As real servers do, it closes the
// connection of a client whose user it refuses.
func (f *fake) serve(conn net.Conn) {
	defer conn.Close()
	if _, err := packet(conn); err != nil {
		return
	}
	session := binary.BigEndian.AppendUint32(nil, 0)         // the version of the protocol
	session = binary.BigEndian.AppendUint32(session, 60_000) // the timeout in milliseconds
	session = binary.BigEndian.AppendUint64(session, 1)      // the session
	session = binary.BigEndian.AppendUint32(session, 16)     // its password
	session = append(session, make([]byte, 16)...)           //
	for reply := session; ; {
		if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(reply))), reply...)); err != nil {
			return
		}
		request, err := packet(conn)
		if err != nil || len(request) < 8 {
			return
		}
		code := f.answer(int32(binary.BigEndian.Uint32(request[4:])))
		reply = binary.BigEndian.AppendUint32(nil, binary.BigEndian.Uint32(request)) // the number of the request
		reply = binary.BigEndian.AppendUint64(reply, 1)                              // the latest transaction
		reply = binary.BigEndian.AppendUint32(reply, uint32(code))
		if code == authFailed || code == saslRequired {
			_, _ = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(reply))), reply...))
			return
		}
	}
}

// packet reads one packet.
func packet(conn net.Conn) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	data := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(conn, data)
	return data, err
}
