package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// startNginx starts nginx with the configuration of docs/proxies.md in front of addresses,
// and returns its own address. change, if not nil, changes the configuration.
func startNginx(t *testing.T, change func(string) string, addresses ...string) string {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx" // outside of the path of a user
	}
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("nginx is not installed")
		}
		t.Skip("nginx is not installed: apt-get install nginx-light")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "proxies.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```nginx\n")
	text, _, found := strings.Cut(text, "```")
	port, err := child.FreePort()
	if err != nil || !found {
		t.Fatal("no port or no configuration:", err)
	}
	dir := t.TempDir()
	users, at := filepath.Join(dir, "users"), fmt.Sprintf("127.0.0.1:%d", port)
	write(t, users, "%s", "ann:{PLAIN}secret\n")
	if err := os.Chmod(users, 0o644); err != nil {
		t.Fatal(err)
	}
	servers := ""
	for _, a := range addresses {
		servers += "server " + a + " max_fails=0;"
	}
	text = strings.NewReplacer("server 127.0.0.1:8080;", servers, "127.0.0.1:8000", at, "/etc/nginx/users", users).Replace(text)
	if change != nil {
		text = change(text)
	}
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += kind + "_temp_path " + filepath.Join(dir, kind) + ";\n"
	}
	file := filepath.Join(dir, "nginx.conf")
	write(t, file, "daemon off;\nmaster_process off;\npid %s;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n%s%s}\n", filepath.Join(dir, "pid"), temporary, text)
	p, err := child.Start(exec.Command(program, "-p", dir, "-c", file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	await(t, "nginx listens", func() bool {
		conn, err := net.Dial("tcp", at)
		if err == nil {
			_ = conn.Close()
		}
		if !p.Running() {
			t.Fatalf("nginx does not start:\n%s", p.Log())
		}
		return err == nil
	})
	return "http://" + at
}

// behindNginx sends an order as ann, with pairs of header fields.
func behindNginx(t *testing.T, method, url string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.GetBody = nil
	r.SetBasicAuth("ann", "secret")
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = []string{header[i+1]} // as spelled
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text), err, resp.Close}
}

// The configuration of nginx in the documents works, as the page says.
func TestNginx(t *testing.T) {
	child.SkipIfShort(t, "starts nginx")
	t.Parallel()
	t.Run("in front of the gateway", func(t *testing.T) {
		t.Parallel()
		var seen atomic.Pointer[http.Header]
		var runs atomic.Int64
		o := startService(t)
		o.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := r.Header.Clone()
			seen.Store(&h)
			fmt.Fprintf(w, "order %d", runs.Add(1))
		})
		name := file(t, "engine: memory\nlisten: 127.0.0.1:0\nto: %s\ntrusted-proxies: 127.0.0.1\nprincipal: {header: X-User}\nrules:\n  - match: POST /orders\n    once: order:{header.Idempotency-Key}\n", o.URL)
		g := startGateway(t, "serve", "--config", name)
		at := startNginx(t, nil, strings.TrimPrefix(g.url, "http://"))
		order := func(path string, header ...string) answer {
			return behindNginx(t, http.MethodPost, at+path, header...)
		}
		first := order("/orders", "Idempotency-Key", orderKey, "X-User", "bob", "X-Forwarded-For", "192.0.2.1", "X-Original-Url", "/admin", "X-Rewrite-Url", "/admin", "Forwarded", "host=evil").want(t, 200, "order 1")
		h := *seen.Load()
		if h.Get("X-User") != "ann" || h.Get("X-Forwarded-For") != "127.0.0.1, 127.0.0.1" || h.Get("X-Original-Url")+h.Get("X-Rewrite-Url")+h.Get("Forwarded") != "" {
			t.Errorf("the service got %v", h)
		}
		again := order("/orders", "Idempotency-Key", orderKey, "X-User", "carl").want(t, 200, first.text)
		if again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the second response is no replay: %v", again.header)
		}
		order("/orders", "Idempotency_Key", orderKey).want(t, 400, "key_missing")
		for _, path := range []string{"//orders", "/orders/", "/x/%2e%2e/orders", "/ORDERS"} {
			order(path, "Idempotency-Key", "another-order-0000002").want(t, 400, "request_ambiguous")
		}
		if n := runs.Load(); n != 1 {
			t.Errorf("%d orders ran, want 1", n)
		}
	})
	t.Run("it repeats no request", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			name   string
			change func(string) string
			most   int64
		}{
			{"as the page says", nil, 1},
			{"without the setting", func(s string) string { return strings.Replace(s, "proxy_next_upstream off;", "", 1) }, 2}, // so the test would notice
		} {
			var got atomic.Int64
			at := startNginx(t, c.change, hangsUp(t, &got), hangsUp(t, &got))
			behindNginx(t, http.MethodPut, at+"/orders").want(t, 502)
			if n := got.Load(); n != c.most {
				t.Errorf("%s: the servers got %d requests, want %d", c.name, n, c.most)
			}
		}
	})
}

// hangsUp starts a server that reads each request and closes the connection.
func hangsUp(t *testing.T, got *atomic.Int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() { // until the test ends
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				got.Add(1)
			}
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}
