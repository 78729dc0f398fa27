package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Do sends one command on a new connection and returns the reply as redis-cli prints
// it, without quotes: an array has one item per line, and a nil reply is "(nil)". An
// error reply is an error.
func (s *Server) Do(args ...string) (string, error) {
	conn, err := s.send(args)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return read(bufio.NewReader(conn))
}

// Must is Do for a command that must succeed; otherwise it ends the test.
func (s *Server) Must(args ...string) string {
	s.t.Helper()
	reply, err := s.Do(args...)
	if err != nil {
		s.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return reply
}

// Subscribe listens on a channel, with SUBSCRIBE or SSUBSCRIBE, until the test
// ends. Each call of next waits for a message and returns its payload.
func (s *Server) Subscribe(command, channel string) (next func() string) {
	s.t.Helper()
	conn, err := s.send([]string{command, channel})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	r := bufio.NewReader(conn)
	next = func() string {
		s.t.Helper()
		message, err := read(r)
		if err != nil {
			s.t.Fatalf("no message on %s: %v", channel, err)
		}
		_, payload, _ := strings.Cut(message, "\n"+channel+"\n")
		return payload
	}
	next() // the confirmation of the subscription
	return next
}

// send opens a connection and writes a command to it.
func (s *Server) send(args []string) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", s.Addr(), patience)
	if err != nil {
		return nil, err
	}
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	if err = conn.SetDeadline(time.Now().Add(patience)); err == nil {
		_, err = conn.Write(b)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func read(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, text := line[0], strings.TrimRight(line[1:], "\r\n")
	switch kind {
	case '+', ':':
		return text, nil
	case '-':
		return "", errors.New(text)
	case '$':
		return bulk(r, text)
	case '*':
		return array(r, text)
	}
	return "", fmt.Errorf("%q is not a RESP reply", line)
}

func bulk(r *bufio.Reader, size string) (string, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 {
		return "(nil)", err
	}
	b := make([]byte, n+2)
	_, err = io.ReadFull(r, b)
	return string(b[:n]), err
}

func array(r *bufio.Reader, size string) (string, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 {
		return "(nil)", err
	}
	items := make([]string, n)
	for i := range items {
		if items[i], err = read(r); err != nil {
			return "", err
		}
	}
	return strings.Join(items, "\n"), nil
}
