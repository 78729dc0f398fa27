package gateway_test

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // of the WebSocket handshake
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// echo is an upstream that switches protocols and echoes what it receives.
func echo(w http.ResponseWriter, r *http.Request) {
	up := r.Header.Get("Upgrade")
	if up == "" {
		fmt.Fprint(w, "plain")
		return
	}
	sum := sha1.Sum([]byte(r.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // RFC 6455
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nSec-Websocket-Accept: %s\r\n\r\n", up, base64.StdEncoding.EncodeToString(sum[:]))
	rw.Flush()
	io.Copy(conn, rw)
}

// Without a rule, WebSocket upgrades pass; no other upgrade does.
func TestUpgrades(t *testing.T) {
	s := open(t, withRules(on("* /orders", rule.Lock, "order", guard.Policy{Name: "order"})), http.HandlerFunc(echo))
	// upgrade requests another protocol. It returns the echo of hello if the upstream
	// switches, and otherwise the response.
	upgrade := func(path, protocol string) (status int, text string) {
		conn, err := net.Dial("tcp", s.front.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: shop\r\nX-User: ann\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nUpgrade: %s\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", path, protocol)
		in := bufio.NewReader(conn)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusSwitchingProtocols {
			text, _ := io.ReadAll(resp.Body)
			return resp.StatusCode, string(text)
		}
		io.WriteString(conn, "hello")
		echoed := make([]byte, 5)
		io.ReadFull(in, echoed)
		return resp.StatusCode, string(echoed)
	}
	if status, text := upgrade("/chat", "websocket"); status != 101 || text != "hello" {
		t.Errorf("a WebSocket gets %d %q, want 101 and the echo", status, text)
	}
	if status, text := upgrade("/chat", "h2c"); status != 200 || text != "plain" {
		t.Errorf("an upgrade to h2c gets %d %q, want 200 without an upgrade", status, text)
	}
	if status, text := upgrade("/orders", "websocket"); status != 400 || !strings.Contains(text, "upgrade_refused") {
		t.Errorf("a WebSocket on a guarded path gets %d %q, want 400 upgrade_refused", status, text)
	}
}

// The upstream may speak HTTP/2, with TLS and without.
func TestHTTP2Upstream(t *testing.T) {
	proto := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, r.Proto, " ", r.Host)
	})
	t.Run("without TLS", func(t *testing.T) {
		plain := httptest.NewUnstartedServer(proto)
		plain.Config.Protocols = &http.Protocols{}
		plain.Config.Protocols.SetUnencryptedHTTP2(true)
		plain.Start()
		t.Cleanup(plain.Close)
		cfg := withRules(orders())
		cfg.Upstream = config.Upstream{To: []*url.URL{parse(t, plain.URL)}, H2C: true, HostHeader: "inner"}
		s := open(t, cfg, nil)
		if got := s.send("POST", "/orders", "x", key("k")); got.text != "HTTP/2.0 inner" {
			t.Errorf("a guarded request gets %v, want HTTP/2.0 inner", got)
		}
		if got := s.send("GET", "/free", ""); got.text != "HTTP/2.0 inner" {
			t.Errorf("an unguarded request gets %v, want HTTP/2.0 inner", got)
		}
	})
	t.Run("with TLS", func(t *testing.T) {
		secure := httptest.NewUnstartedServer(proto)
		secure.EnableHTTP2 = true
		secure.StartTLS()
		t.Cleanup(secure.Close)
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
		if _, err := x509.ParseCertificate(secure.Certificate().Raw); err != nil {
			t.Fatal(err)
		}
		for name, u := range map[string]config.Upstream{"with its CA": {CA: file(t, "ca.pem", ca)}, "insecure": {Insecure: true}} {
			cfg := withRules(orders())
			u.To, u.HostHeader = []*url.URL{parse(t, secure.URL)}, "inner"
			cfg.Upstream = u
			s := open(t, cfg, nil)
			if got := s.send("POST", "/orders", "x", key("k")); got.text != "HTTP/2.0 inner" {
				t.Errorf("%s: the response is %v, want HTTP/2.0 inner", name, got)
			}
		}
	})
}

// Encodings, queries, keys and user agents pass unchanged. A guarded request loses Expect,
// because the gateway has read its body.
func TestMessagesPassUnchanged(t *testing.T) {
	w := &recordingUpstream{}
	s := open(t, withRules(orders()), w)
	s.send("POST", "/free?a=1;b=2&&c=%zz", "\x1f\x8bzip", field("Content-Encoding", "gzip"), field("Accept-Encoding", "br"), field("Expect", "100-continue"))
	r := w.last()
	if r.RequestURI != "/free?a=1;b=2&&c=%zz" || r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Accept-Encoding") != "br" || w.body[0] != "\x1f\x8bzip" {
		t.Errorf("the upstream got %q %v %q, want the query, encodings and body unchanged", r.RequestURI, r.Header, w.body)
	}
	if got := s.send("POST", "/orders", "x", key("k"), field("Expect", "100-continue")); got.StatusCode != http.StatusOK || w.last().Header.Get("Expect") != "" {
		t.Errorf("a guarded request with Expect gets %v, and the upstream gets Expect %q; want 200 and none", got, w.last().Header.Get("Expect"))
	}
	if k := w.last().Header.Get("Idempotency-Key"); k != "k" {
		t.Errorf("the upstream gets the key %q, want k", k)
	}
	if got := s.send("GET", "/free", ""); got.StatusCode != http.StatusOK || w.last().ContentLength != 0 || w.last().TransferEncoding != nil {
		t.Errorf("the upstream gets a GET with a body: length %d, encoding %v", w.last().ContentLength, w.last().TransferEncoding)
	}
	s.raw("GET /free HTTP/1.1\r\nHost: x\r\nUser-Agent: me\r\n\r\n")
	if h := w.last().Header; h["Accept-Encoding"] != nil {
		t.Errorf("the gateway adds Accept-Encoding: %q", h["Accept-Encoding"])
	}
	if w.last().UserAgent() != "me" {
		t.Errorf("the upstream gets the user agent %q, want me", w.last().UserAgent())
	}
}

// Headers are bounded in size and time, and idle connections in time.
func TestBounds(t *testing.T) {
	defaults, err := open(t, withRules(), nil).gateway.Server()
	if err != nil {
		t.Fatal(err)
	}
	if defaults.ReadHeaderTimeout != 5*time.Second || defaults.IdleTimeout != time.Minute || defaults.MaxHeaderBytes != 16<<10 {
		t.Errorf("the defaults are %v, %v and %d bytes, want 5s, 1m and 16 KiB", defaults.ReadHeaderTimeout, defaults.IdleTimeout, defaults.MaxHeaderBytes)
	}
	cfg := withRules()
	cfg.Timeouts.Header = 100 * time.Millisecond
	s := open(t, cfg, nil)
	if got := s.raw("GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 40<<10) + "\r\n\r\n"); len(got) != 1 || got[0] != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 40 KiB gets %v, want 431", got)
	}
	began := time.Now()
	if s.raw("GET / HTTP/1.1\r\nHost: x\r\nX: "); time.Since(began) > 3*time.Second {
		t.Errorf("the server waited %v for a slow header, want at most 3s", time.Since(began))
	}
}
