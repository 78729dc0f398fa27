package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A gateway is a running interlock serve or interlock proxy.
type gateway struct {
	*run
	t                  *testing.T
	url, admin, health string
	tokenFile          string
}

// reloadFailed is the log message of a failed reload.
const reloadFailed = "reload failed; the previous configuration stays in use"

// startGateway starts a gateway and waits until it listens.
func startGateway(t *testing.T, args ...string) *gateway {
	t.Helper()
	return startGatewayWith(t, nil, args...)
}

// startGatewayWith starts a gateway with further environment variables.
func startGatewayWith(t *testing.T, env []string, args ...string) *gateway {
	t.Helper()
	g := &gateway{run: start(t, env, append(args, "--log", "json")...), t: t}
	t.Cleanup(func() { _ = g.cmd.Process.Kill() })
	await(t, "the gateway listens", func() bool {
		if g.logged("stopped") != nil || strings.HasPrefix(g.stderr.String(), "interlock:") {
			t.Fatalf("the gateway does not start:\n%s", &g.stderr)
		}
		return g.logged("listening") != nil
	})
	record := g.logged("listening")
	g.url, g.admin, g.health = record["url"].(string), record["admin"].(string), record["health"].(string)
	if g.tokenFile, _ = record["token_file"].(string); g.tokenFile != "" {
		token, err := os.ReadFile(g.tokenFile)
		if err != nil {
			t.Fatal(err)
		}
		tokens.Store(strings.TrimPrefix(g.admin, "http://"), strings.TrimSpace(string(token)))
	}
	return g
}

// tokens are the tokens of the admin APIs, by host.
var tokens sync.Map

// logged returns the last log record with a message, or nil.
func (g *gateway) logged(message string) (last map[string]any) {
	lines := bufio.NewScanner(strings.NewReader(g.stderr.String()))
	for lines.Scan() {
		var record map[string]any
		if json.Unmarshal(lines.Bytes(), &record) == nil && record["msg"] == message {
			last = record
		}
	}
	return last
}

// An answer is a response or an error.
type answer struct {
	status int
	header http.Header
	text   string
	err    error
	last   bool // the response has Connection: close
}

// post sends a POST request with a key, without retries.
func (g *gateway) post(path, key string) answer {
	return ask(g.t, http.MethodPost, g.url+path, key, "{}")
}

func (g *gateway) get(url string) answer { return ask(g.t, http.MethodGet, url, "", "") }

func ask(t *testing.T, method, url, key, body string) answer {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	r.GetBody = nil // otherwise net/http retries by itself
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if token, ok := tokens.Load(r.URL.Host); ok {
		r.Header.Set("Authorization", "Bearer "+token.(string))
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text), err, resp.Close}
}

// want expects a status and each of the words.
func (a answer) want(t *testing.T, status int, words ...string) answer {
	t.Helper()
	if a.err != nil || a.status != status {
		t.Fatalf("the answer is %d, want %d: %v %s", a.status, status, a.err, a.text)
	}
	for _, w := range words {
		if !strings.Contains(a.text, w) {
			t.Fatalf("the answer lacks %q:\n%s", w, a.text)
		}
	}
	return a
}

// A service counts its orders by key.
type service struct {
	*httptest.Server
	mu   sync.Mutex
	runs map[string]int
	slow atomic.Int64  // nanoseconds that an order takes
	done chan struct{} // closed at the end of the test
}

func startService(t *testing.T) *service {
	o := &service{runs: make(map[string]int), done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		o.mu.Lock()
		o.runs[r.Header.Get("Idempotency-Key")]++
		n := len(o.runs)
		o.mu.Unlock()
		<-time.After(time.Duration(o.slow.Load()))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"order":%d}`, n)
	})
	mux.HandleFunc("POST /hang", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-o.done:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the service") })
	o.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(o.done)
		o.CloseClientConnections()
		o.Close()
	})
	return o
}

func (o *service) ran(key string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.runs[key]
}

const orderKey = "idempotency-key-of-an-order-0001"

// Requirement P8: one command protects a service that has no locks of its own.
func TestProxy(t *testing.T) {
	t.Parallel()
	o := startService(t)
	t.Run("requests that carry a key run once, and the others pass", func(t *testing.T) {
		t.Parallel()
		g := startGateway(t, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
		first := g.post("/orders", orderKey).want(t, 201)
		again := g.post("/orders", orderKey).want(t, 201)
		if again.text != first.text || again.header.Get("Idempotent-Replayed") != "true" || o.ran(orderKey) != 1 {
			t.Errorf("the second response is %q (%v) after %d runs, want a replay of %q after 1 run", again.text, again.header, o.ran(orderKey), first.text)
		}
		g.post("/orders", "").want(t, 201)
		g.post("/orders", "").want(t, 201)
		if n := o.ran(""); n != 2 {
			t.Errorf("%d of 2 orders without a key ran, want both", n)
		}
		g.get(g.url+"/").want(t, 200, "the service")
		g.get(g.health+"/readyz").want(t, 200, "ok")
		g.get(g.admin+"/api/v1/rules").want(t, 200, `"requests"`)
		bare, err := http.Get(g.admin + "/api/v1/rules") //nolint:noctx // a test
		if err != nil || bare.StatusCode != http.StatusUnauthorized {
			t.Fatalf("a request without the token: got %v, %v; want 401", bare, err)
		}
		bare.Body.Close()
		if info, err := os.Stat(g.tokenFile); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file with the token: got %v, %v; want mode 0600", info, err)
		}
		g.get(g.admin+"/api/v1/stats").want(t, 200, `"requests":{"running":0,"waiting":0,"asked":1`)
		for _, warning := range []string{"memory", "no-principal", "optional-key"} {
			if !strings.Contains(g.stderr.String(), `"warning":"`+warning+`"`) {
				t.Errorf("the log lacks the warning %s", warning)
			}
		}
	})
	t.Run("--once sets rules that require a key", func(t *testing.T) {
		t.Parallel()
		g := startGateway(t, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "off", "--once", "POST /orders=header.Idempotency-Key")
		g.post("/orders", "").want(t, 400, "key_missing")
		g.post("/orders", "another-order-0000002").want(t, 201)
		if g.admin != "" || g.health != "" {
			t.Errorf("the admin API is at %q and health at %q, want neither", g.admin, g.health)
		}
	})
	t.Run("without --log json it prints a summary and warnings", func(t *testing.T) {
		t.Parallel()
		r := start(t, nil, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "off", "--lang", "zh")
		await(t, "the summary is printed", func() bool { return strings.Contains(r.stderr.String(), "Ctrl-C") })
		r.interrupt(t)
		r.expect(t, 0, "→ "+o.URL, "POST,PATCH /", "正式使用之前", "记录只在本进程内", "msg=stopped")
	})
}

// file writes a configuration and returns its path.
func file(t *testing.T, format string, args ...any) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "interlock.yaml")
	write(t, name, format, args...)
	return name
}

func write(t *testing.T, name, format string, args ...any) {
	t.Helper()
	if err := os.WriteFile(name, fmt.Appendf(nil, format, args...), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	serviceHead  = "engine: memory\nlisten: 127.0.0.1:0\nto: %s\nprincipal: none\nadmin: 127.0.0.1:0\n"
	serviceRules = "rules:\n  - match: POST /orders\n    once: order:{header.Idempotency-Key}\n    scope: key\n"
)

func TestServeReload(t *testing.T) {
	t.Parallel()
	o := startService(t)
	name := file(t, serviceHead+"rules: []\n", o.URL)
	g := startGateway(t, "serve", "--config", name)
	g.post("/orders", "").want(t, 201)

	t.Run("a change of the file reloads it", func(*testing.T) {
		write(t, name, serviceHead+serviceRules, o.URL)
		await(t, "the rule is in use", func() bool { return g.post("/orders", "").status == 400 })
	})
	t.Run("a file with a mistake changes nothing, and the mistake is reported", func(t *testing.T) {
		write(t, name, serviceHead+serviceRules+"    retian: 5m\n", o.URL)
		await(t, "the reload fails", func() bool { return g.logged(reloadFailed) != nil })
		why := fmt.Sprint(g.logged(reloadFailed)["err"])
		if !strings.Contains(why, "interlock.yaml:10:5") || !strings.Contains(why, "retain") {
			t.Errorf("the logged error is %q, want the position 10:5 and retain", why)
		}
		g.post("/orders", "").want(t, 400)
		g.get(g.health+"/readyz?verbose").want(t, 200, "[+] config", "[!] the last reload failed")
		g.get(g.admin+"/api/v1/rules").want(t, 200, `"ok":false`, "retian")
		g.reload(422, "retain")
	})
	t.Run("a change that requires a restart is refused and named", func(t *testing.T) {
		write(t, name, strings.Replace(serviceHead, ":0\nto", ":1\nto", 1)+serviceRules, o.URL)
		await(t, "the reload fails", func() bool {
			return strings.Contains(fmt.Sprint(g.logged(reloadFailed)["err"]), "listen cannot change during a reload")
		})
		g.post("/orders", "").want(t, 400)
	})
	t.Run("SIGHUP and the API reload the file", func(t *testing.T) {
		write(t, name, serviceHead+"rules: []\n", o.URL)
		if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		await(t, "the rule is not in use any more", func() bool { return g.post("/orders", "").status == 201 })
		g.reload(200, `"ok":true`)
		g.get(g.admin+"/api/v1/rules").want(t, 200, `"ok":true`)
		if text := g.get(g.health + "/readyz?verbose").text; strings.Contains(text, "[!]") {
			t.Errorf("/readyz still reports a failure:\n%s", text)
		}
	})
}

// reload reloads the file through the API.
func (g *gateway) reload(status int, words ...string) {
	g.t.Helper()
	ask(g.t, http.MethodPost, g.admin+"/api/v1/reload", "", `{"reason":"a test"}`).want(g.t, status, words...)
}

// On SIGTERM under load, accepted requests are answered, and the engine is closed last.
func TestServeShutdown(t *testing.T) {
	t.Parallel()
	t.Run("accepted requests are answered", func(t *testing.T) {
		t.Parallel()
		o := startService(t)
		o.slow.Store(int64(20 * time.Millisecond))
		s := redistest.Start(t)
		name := file(t, strings.Replace(serviceHead, "memory", s.URL(), 1)+serviceRules+"shutdown: {delay: 5s, timeout: 2m}\n", o.URL)
		g := startGateway(t, "serve", "--config", name)
		wrong, unanswered, answered := g.storm(16, func() {
			if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			await(t, "the gateway is not ready any more", func() bool { return g.get(g.health+"/readyz").status == 503 })
			if a := g.get(g.url + "/"); a.err != nil || a.status != 200 || !a.last {
				t.Errorf("during the delay, the response has no Connection: close: %d %v", a.status, a.err)
			}
		})
		if len(wrong) > 0 || len(unanswered) != 16 || answered < 100 {
			t.Errorf("%d requests were answered and %d were not, want at least 100 and 16; unexpected responses:\n%s", answered, len(unanswered), strings.Join(wrong, "\n"))
		}
		for _, key := range unanswered { // sent after the listener was closed
			if n := o.ran(key); n != 0 {
				t.Errorf("%s was not answered, but ran %d times", key, n)
			}
		}
		g.expect(t, 0)
		if g.logged("stopped") == nil {
			t.Errorf("the log lacks \"stopped\", so the shutdown is incomplete:\n%s", &g.stderr)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		for key, n := range o.runs {
			if n != 1 {
				t.Errorf("%s ran %d times, want once", key, n)
			}
		}
		if n := len(o.runs); n != answered {
			t.Errorf("%d orders ran, want %d, the number of answered ones", n, answered)
		}
		if left := s.Must("KEYS", "*guard:claim*"); left != "" {
			t.Errorf("the server still has the claims %s, want none", left)
		}
	})
	t.Run("a request beyond the timeout is cut off, and its outcome is unknown", func(t *testing.T) {
		t.Parallel()
		o := startService(t)
		s := redistest.Start(t)
		name := file(t, strings.Replace(serviceHead, "memory", s.URL(), 1)+"rules:\n  - match: POST /hang\n    once: hang:{header.Idempotency-Key}\n    scope: key\n    on-unknown: hold\n    lease: 1s\nshutdown: {timeout: 300ms}\n", o.URL)
		g := startGateway(t, "serve", "--config", name)
		got := make(chan answer, 1)
		go func() { got <- g.post("/hang", orderKey) }()
		await(t, "the request is running", func() bool { return strings.Contains(g.get(g.admin+"/api/v1/claims").text, "running") })
		g.interrupt(t)
		if a := <-got; a.err == nil && a.status < 500 {
			t.Errorf("the response is %d %s, want an error", a.status, a.text)
		}
		g.expect(t, 0, "their connections are closed")
		next := startGateway(t, "serve", "--config", name)
		await(t, "its lease has expired", func() bool { return strings.Contains(next.post("/hang", orderKey).text, "outcome_unknown") })
	})
	t.Run("a second signal kills the gateway", func(t *testing.T) {
		t.Parallel()
		o := startService(t)
		g := startGateway(t, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
		go g.post("/hang", orderKey)
		await(t, "the request is running", func() bool { return strings.Contains(g.get(g.admin+"/api/v1/claims").text, "running") })
		g.interrupt(t)
		await(t, "the shutdown begins", func() bool { return g.logged("shutting down") != nil })
		ended := make(chan struct{})
		go func() { // the process takes a moment after the log line until a signal kills it
			for {
				select {
				case <-ended:
					return
				case <-time.After(10 * time.Millisecond):
					_ = g.cmd.Process.Signal(os.Interrupt) // fails once the process has ended
				}
			}
		}()
		defer close(ended)
		if code := g.wait(t); code != -1 { // an orderly shutdown would exit with 0
			t.Errorf("the exit code is %d, want a death by the signal", code)
		}
	})
}

// Without a file there is nothing to reload, so SIGHUP ends a proxy: its terminal was
// closed.
func TestProxyHangup(t *testing.T) {
	t.Parallel()
	// Under nohup, this process ignores SIGHUP, and its child would, too. Notify resets that.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	g := startGateway(t, "proxy", "--to", startService(t).URL, "--listen", "127.0.0.1:0", "--admin", "off")
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code := g.wait(t); code != -1 {
		t.Errorf("the exit code is %d, want a death by the signal", code)
	}
}

// storm sends orders from several clients until their connections fail. It calls during
// once 100 orders were answered. It returns the unexpected responses and the keys of
// unanswered requests: one per client, which then stops.
func (g *gateway) storm(clients int, during func()) (wrong, unanswered []string, answered int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	send := func(key string) (more, begin bool) {
		a := g.post("/orders", key)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case a.err != nil:
			unanswered = append(unanswered, key)
		case a.status != 201:
			wrong = append(wrong, fmt.Sprint(a.status, a.text))
		default:
			answered++
		}
		return a.err == nil, answered == 100
	}
	var once sync.Once
	for c := range clients {
		all.Go(func() {
			for i := range 10_000 {
				more, begin := send(fmt.Sprintf("storm-order-%04d-%06d", c, i))
				if !more {
					return
				}
				if begin {
					once.Do(func() { all.Go(during) })
				}
			}
		})
	}
	all.Wait()
	return wrong, unanswered, answered
}

func TestServeStart(t *testing.T) {
	t.Parallel()
	o := startService(t)
	t.Run("a port in use is named, with a hint", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		at := l.Addr().String()
		start(t, nil, "proxy", "--to", o.URL, "--listen", at, "--admin", "off").expect(t, 1, "cannot listen on "+at, "address already in use", "choose another address with --listen")
		start(t, nil, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", at).expect(t, 1, at, "--admin off")
		r := start(t, []string{"INTERLOCK_DINGTALK_WEBHOOK=http://127.0.0.1:1/"}, "alert-relay", "--listen", at)
		r.expect(t, 1, "cannot listen on "+at+": bind: address already in use", "choose another address with --listen")
		if strings.Contains(r.stderr.String(), "--no-page") {
			t.Errorf("the hint names a flag of demo:\n%s", &r.stderr)
		}
	})
	t.Run("an address that two listeners should use is named, with both", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at := l.Addr().String()
		_ = l.Close()
		r := start(t, nil, "serve", "--config", file(t, serviceHead+serviceRules, o.URL), "--health", at, "--metrics", at)
		r.expect(t, 1, "cannot listen on "+at+": health already uses this address", "choose another address with --metrics")
		if strings.Contains(r.stderr.String(), "stop the process") {
			t.Errorf("the hint is to stop the process, which is this one:\n%s", &r.stderr)
		}
	})
	t.Run("an unreachable engine is exit code 5, and no password is printed", func(t *testing.T) {
		t.Parallel()
		r := start(t, nil, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "off", "--engine", "redis://:geheim@127.0.0.1:1")
		r.expect(t, 5, "connection refused", "--wait-for-engine")
		if strings.Contains(r.stderr.String(), "geheim") {
			t.Errorf("the output contains the password:\n%s", &r.stderr)
		}
		name := file(t, "engine: {quorum: [redis://127.0.0.1:1, redis://127.0.0.1:2, redis://127.0.0.1:3]}\nlisten: 127.0.0.1:0\nto: %s\nrules: []\n", o.URL)
		start(t, nil, "serve", "--config", name).expect(t, 5)
		name = file(t, "engine: {standby: [redis://127.0.0.1:1, redis://127.0.0.1:2]}\nlisten: 127.0.0.1:0\nto: %s\nrules: []\n", o.URL)
		start(t, nil, "serve", "--config", name).expect(t, 5)
	})
	t.Run("all mistakes in the file are listed", func(t *testing.T) {
		t.Parallel()
		start(t, nil, "serve", "--config", file(t, "engine: memroy\nto: x\n")).expect(t, 1, "did you mean memory?", "rules", "mistakes: 3")
		start(t, nil, "serve", "--config", filepath.Join(t.TempDir(), "none.yaml")).expect(t, 1, "does not exist", "interlock config init")
	})
}

func TestServeWithoutItsEngine(t *testing.T) {
	t.Parallel()
	o := startService(t)
	s := redistest.Start(t)
	s.Kill()
	g := startGateway(t, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "off", "--health", "127.0.0.1:0", "--engine", s.URL(), "--wait-for-engine")
	g.post("/orders", orderKey).want(t, 503, "store_unavailable")
	g.get(g.health+"/readyz?verbose").want(t, 503, "[-] engine")
	t.Run("a gateway whose rules all degrade is ready", func(t *testing.T) {
		name := file(t, strings.Replace(serviceHead, "memory", s.URL(), 1)+serviceRules+"    on-down: open\n", o.URL)
		open := startGateway(t, "serve", "--config", name, "--wait-for-engine")
		if a := open.post("/orders", "another-order-0000005").want(t, 201); a.header.Get("Interlock-Unguarded") != "true" {
			t.Errorf("the response lacks Interlock-Unguarded: %v", a.header)
		}
		open.get(open.health+"/readyz").want(t, 200)
	})
	g.get(g.health+"/livez").want(t, 200)
	g.get(g.health+"/api/v1/claims").want(t, 404)
	if n := o.ran(orderKey); n != 0 {
		t.Fatalf("the order ran %d times without a record", n)
	}
	t.Run("it works as soon as the engine is reachable", func(t *testing.T) {
		s.Restart()
		await(t, "orders are accepted", func() bool { return g.post("/orders", orderKey).status == 201 })
		await(t, "the gateway is ready", func() bool { return g.get(g.health+"/readyz").status == 200 })
	})
	t.Run("it recovers from a later outage", func(t *testing.T) {
		s.Kill()
		await(t, "the gateway is not ready", func() bool { return g.get(g.health+"/readyz").status == 503 })
		g.post("/orders", "another-order-0000003").want(t, 503, "store_unavailable")
		g.get(g.url+"/").want(t, 200, "the service")
		s.Restart()
		await(t, "orders are accepted", func() bool { return g.post("/orders", "another-order-0000004").status == 201 })
	})
	if n := o.ran(orderKey); n != 1 {
		t.Errorf("the order ran %d times, want once", n)
	}
}
