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

// The gateway forwards a WebSocket in both directions on a route without a rule, and
// refuses it on a guarded route.
func TestGatewayWebSocket(t *testing.T) {
	f := newGateway(t, 0)
	f.service.Config.Handler = http.HandlerFunc(echo)
	conn, in := f.upgrade(t, "/chat", "101 Switching Protocols")
	for _, text := range []string{"one", "two", strings.Repeat("long ", 20)} {
		if _, err := conn.Write(clientFrame(text)); err != nil {
			t.Fatal(err)
		}
		if got := readServerFrame(t, in); got != text {
			t.Fatalf("the service echoed %q, want %q", got, text)
		}
	}
	f.upgrade(t, "/orders", "400")
	fmt.Println("gateway: a WebSocket worked in both directions on a route without a rule, and was refused on a guarded route")
}

// upgrade requests a WebSocket and expects one of the statuses.
func (f *gatewayFixture) upgrade(t *testing.T, path string, want ...string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	method := http.MethodGet
	if path == "/orders" {
		method = http.MethodPost // the method of the rule
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
	t.Fatalf("%s: got %s, want one of %q", path, answer.Status, want)
	return nil, nil
}

// echo is a service that echoes WebSocket messages (RFC 6455).
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
		text, err := readClientFrame(in.Reader)
		if err != nil {
			return
		}
		if _, err := conn.Write(append([]byte{0x81, byte(len(text))}, text...)); err != nil {
			return
		}
	}
}

var mask = []byte{1, 2, 3, 4}

// clientFrame returns a masked frame, as clients send them, of less than 126 bytes.
func clientFrame(text string) []byte {
	out := append([]byte{0x81, 0x80 | byte(len(text))}, mask...)
	for i := range len(text) {
		out = append(out, text[i]^mask[i%4])
	}
	return out
}

// readClientFrame reads a frame that clientFrame made.
func readClientFrame(in io.Reader) ([]byte, error) {
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

// readServerFrame reads an unmasked frame, as servers send them.
func readServerFrame(t *testing.T, in io.Reader) string {
	t.Helper()
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil || !bytes.Equal(head[:1], []byte{0x81}) {
		t.Fatalf("got the frame %x, %v; want a text frame", head, err)
	}
	text := make([]byte, head[1])
	if _, err := io.ReadFull(in, text); err != nil {
		t.Fatal(err)
	}
	return string(text)
}
