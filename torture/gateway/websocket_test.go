package gateway

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // RFC 6455 asks for it
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A WebSocket passes on a route that no rule is about, both ways, and is not mistaken for
// a request that could be answered twice on one that a rule is about.
func TestGatewayWebSocket(t *testing.T) {
	p := open(t, 0)
	p.service.Config.Handler = http.HandlerFunc(echo)
	conn, in := p.upgrade(t, "/chat", "101 Switching Protocols")
	for _, text := range []string{"one", "two", strings.Repeat("long ", 20)} {
		if _, err := conn.Write(frame(text)); err != nil {
			t.Fatal(err)
		}
		if got := unframed(t, in); got != text {
			t.Fatalf("it says %q, want %q", got, text)
		}
	}
	p.upgrade(t, "/orders", "400")
	fmt.Println("gateway: a WebSocket passed both ways on a route without a rule, and was refused on one with")
}

// upgrade asks for a WebSocket and expects one of the answers.
func (p *post) upgrade(t *testing.T, path string, want ...string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	method := http.MethodGet
	if path == "/orders" {
		method = http.MethodPost // that is what the rule is about
	}
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: shop\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nIdempotency-Key: an-order-by-websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 0\r\n\r\n", method, path)
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() // empty for an upgrade
	for _, w := range want {
		if strings.HasPrefix(answer.Status, w) {
			return conn, in
		}
	}
	t.Fatalf("%s: %s, want one of %q", path, answer.Status, want)
	return nil, nil
}

// echo is a service that says what it hears, by WebSocket (RFC 6455).
func echo(w http.ResponseWriter, r *http.Request) {
	conn, in, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	for {
		text, err := unmasked(in.Reader)
		if err != nil {
			return
		}
		if _, err := conn.Write(append([]byte{0x81, byte(len(text))}, text...)); err != nil {
			return
		}
	}
}

var mask = []byte{1, 2, 3, 4}

// frame is a text as a client sends it: masked, and shorter than 126 bytes.
func frame(text string) []byte {
	out := append([]byte{0x81, 0x80 | byte(len(text))}, mask...)
	for i := range len(text) {
		out = append(out, text[i]^mask[i%4])
	}
	return out
}

// unmasked reads such a frame.
func unmasked(in io.Reader) ([]byte, error) {
	head := make([]byte, 6)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, err
	}
	text := make([]byte, head[1]&0x7f)
	if _, err := io.ReadFull(in, text); err != nil {
		return nil, err
	}
	for i := range text {
		text[i] ^= head[2+i%4]
	}
	return text, nil
}

// unframed reads what a server sends.
func unframed(t *testing.T, in io.Reader) string {
	t.Helper()
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil || !bytes.Equal(head[:1], []byte{0x81}) {
		t.Fatalf("no frame: %x %v", head, err)
	}
	text := make([]byte, head[1])
	if _, err := io.ReadFull(in, text); err != nil {
		t.Fatal(err)
	}
	return string(text)
}
