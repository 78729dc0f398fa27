package main

import (
	"io"
	"net"
	"sync"
	"time"
)

// A distance lies between clients and a server: what is sent to the server takes a
// while longer, however much of it is on the way.
type distance struct {
	listener net.Listener
	target   string
	delay    time.Duration
	running  sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn // to be closed by end
}

// distant puts a distance before a server. It ends with end.
func distant(target string, delay time.Duration) (*distance, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &distance{listener: l, target: target, delay: delay}
	d.running.Go(d.accept) // until the listener is closed
	return d, nil
}

func (d *distance) addr() string { return d.listener.Addr().String() }

// end closes everything and waits until nothing is passed on any more.
func (d *distance) end() {
	_ = d.listener.Close()
	d.mu.Lock()
	for _, c := range d.conns {
		_ = c.Close()
	}
	d.mu.Unlock()
	d.running.Wait()
}

func (d *distance) accept() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", d.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		d.mu.Lock()
		d.conns = append(d.conns, client, server)
		d.mu.Unlock()
		d.running.Go(func() { d.carry(client, server) })
		d.running.Go(func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		})
	}
}

// A parcel is what was sent in one go, and when it is to arrive.
type parcel struct {
	bytes []byte
	due   time.Time
}

// carry passes on what a client sends, late.
func (d *distance) carry(client, server net.Conn) {
	parcels := make(chan parcel, 1024)
	d.running.Go(func() {
		for p := range parcels {
			time.Sleep(time.Until(p.due))
			_, _ = server.Write(p.bytes)
		}
		_ = server.Close()
	})
	defer close(parcels)
	for {
		b := make([]byte, 16<<10)
		n, err := client.Read(b)
		if err != nil {
			return
		}
		parcels <- parcel{b[:n], time.Now().Add(d.delay)}
	}
}
