package redisengine_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fakeServer returns the address of a server that answers HELLO and INFO with the given
// version, and OK to everything else. The mode is a line of INFO.
func fakeServer(t *testing.T, version, mode string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(t.Context(), func() { c.Close() })
			serving.Go(func() {
				defer stop()
				serveFake(c, version, mode)
			})
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return l.Addr().String()
}

func serveFake(c net.Conn, version, mode string) {
	defer c.Close()
	info := "# Server\r\nredis_version:" + version + "\r\n" + mode + "\r\n"
	for r := bufio.NewReader(c); ; {
		command, err := readCommand(r)
		if err != nil {
			return
		}
		switch strings.ToUpper(command) {
		case "HELLO":
			_, err = io.WriteString(c, "%2\r\n+version\r\n+"+version+"\r\n+proto\r\n:3\r\n")
		case "INFO":
			_, err = fmt.Fprintf(c, "$%d\r\n%s\r\n", len(info), info)
		case "PING":
			_, err = io.WriteString(c, "+PONG\r\n")
		default:
			_, err = io.WriteString(c, "+OK\r\n")
		}
		if err != nil {
			return
		}
	}
}

// readCommand reads a command and returns its name.
func readCommand(r *bufio.Reader) (string, error) {
	parts, err := length(r, '*')
	if err != nil {
		return "", err
	}
	var name string
	for i := range parts {
		n, err := length(r, '$')
		if err != nil {
			return "", err
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return "", err
		}
		if i == 0 {
			name = string(b[:n])
		}
	}
	return name, nil
}

func length(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil || line[0] != kind {
		return 0, io.ErrUnexpectedEOF
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
