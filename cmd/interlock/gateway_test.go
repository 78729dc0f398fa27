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

// A gate is a gateway at work.
type gate struct {
	*run
	t                  *testing.T
	url, admin, health string
}

// openGate starts a gateway and waits until it listens.
func openGate(t *testing.T, args ...string) *gate {
	t.Helper()
	g := &gate{run: start(t, nil, append(args, "--log", "json")...), t: t}
	t.Cleanup(func() { _ = g.cmd.Process.Kill() })
	await(t, "it listens", func() bool {
		if g.logged("ended") != nil || strings.HasPrefix(g.stderr.String(), "interlock:") {
			t.Fatalf("it does not begin:\n%s", &g.stderr)
		}
		return g.logged("listening") != nil
	})
	said := g.logged("listening")
	g.url, g.admin, g.health = said["url"].(string), said["admin"].(string), said["health"].(string)
	return g
}

// logged returns the last record of the log with a message, or nil.
func (g *gate) logged(message string) (last map[string]any) {
	lines := bufio.NewScanner(strings.NewReader(g.stderr.String()))
	for lines.Scan() {
		var record map[string]any
		if json.Unmarshal(lines.Bytes(), &record) == nil && record["msg"] == message {
			last = record
		}
	}
	return last
}

// An answer is what came back, or why nothing did.
type answer struct {
	status int
	header http.Header
	text   string
	err    error
	last   bool // on its connection
}

// post sends a request with a key, once.
func (g *gate) post(path, key string) answer { return ask(g.t, http.MethodPost, g.url+path, key, "{}") }

func (g *gate) get(url string) answer { return ask(g.t, http.MethodGet, url, "", "") }

func ask(t *testing.T, method, url, key, body string) answer {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	r.GetBody = nil // or net/http sends it again by itself
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text), err, resp.Close}
}

// want fails the test unless the answer has a status and each of the words.
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

// An office is a service that counts its orders, by key.
type office struct {
	*httptest.Server
	mu   sync.Mutex
	runs map[string]int
	slow atomic.Int64 // ns that an order takes
	gate chan struct{}
}

func openOffice(t *testing.T) *office {
	o := &office{runs: make(map[string]int), gate: make(chan struct{})}
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
		case <-o.gate:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the office") })
	o.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(o.gate)
		o.CloseClientConnections()
		o.Close()
	})
	return o
}

func (o *office) ran(key string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.runs[key]
}

const somebody = "order-of-somebody-0001"

// P8: a line protects a service that knows nothing of it.
func TestProxy(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	t.Run("what carries a key happens once, and the rest passes", func(t *testing.T) {
		t.Parallel()
		g := openGate(t, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
		first := g.post("/orders", somebody).want(t, 201)
		again := g.post("/orders", somebody).want(t, 201)
		if again.text != first.text || again.header.Get("Idempotent-Replayed") != "true" || o.ran(somebody) != 1 {
			t.Errorf("the second answer is %q (%v), the first %q; it ran %d times", again.text, again.header, first.text, o.ran(somebody))
		}
		g.post("/orders", "").want(t, 201)
		g.post("/orders", "").want(t, 201)
		if n := o.ran(""); n != 2 {
			t.Errorf("of two orders without a key %d ran", n)
		}
		g.get(g.url+"/").want(t, 200, "the office")
		g.get(g.health+"/readyz").want(t, 200, "ok")
		g.get(g.admin+"/api/v1/rules").want(t, 200, `"requests"`)
		g.get(g.admin+"/api/v1/stats").want(t, 200, `"requests":{"running":0,"waiting":0,"asked":1`)
		for _, lack := range []string{"memory", "nobody", "voluntary"} {
			if !strings.Contains(g.stderr.String(), `"lack":"`+lack+`"`) {
				t.Errorf("it does not say that it lacks something: %s", lack)
			}
		}
	})
	t.Run("rules of the line, in the words of serve", func(t *testing.T) {
		t.Parallel()
		g := openGate(t, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "off", "--once", "POST /orders=header.Idempotency-Key")
		g.post("/orders", "").want(t, 400, "key_missing")
		g.post("/orders", "another-order-0000002").want(t, 201)
		if g.admin != "" || g.health != "" {
			t.Errorf("there is an admin API at %q, and health at %q", g.admin, g.health)
		}
	})
	t.Run("for people, it says what it does and what it lacks", func(t *testing.T) {
		t.Parallel()
		r := start(t, nil, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "off", "--lang", "zh")
		await(t, "it greets", func() bool { return strings.Contains(r.stderr.String(), "Ctrl-C") })
		r.interrupt(t)
		r.expect(t, 0, "→ "+o.URL, "POST,PATCH /", "正式使用之前", "记录只在本进程内", "msg=ended")
	})
}

// file writes a configuration and returns where.
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
	officeHead  = "engine: memory\nlisten: 127.0.0.1:0\nto: %s\nprincipal: none\nadmin: 127.0.0.1:0\n"
	officeRules = "rules:\n  - match: POST /orders\n    once: order:{header.Idempotency-Key}\n    scope: key\n"
)

func TestServeReload(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	name := file(t, officeHead+"rules: []\n", o.URL)
	g := openGate(t, "serve", "--config", name)
	g.post("/orders", "").want(t, 201)

	t.Run("a change of the file is enough", func(*testing.T) {
		write(t, name, officeHead+officeRules, o.URL)
		await(t, "the rule is there", func() bool { return g.post("/orders", "").status == 400 })
	})
	t.Run("with a mistake in it everything stays, and everybody is told", func(t *testing.T) {
		write(t, name, officeHead+officeRules+"    retian: 5m\n", o.URL)
		await(t, "the log says so", func() bool { return g.logged("not reloaded: what was there before stays") != nil })
		why := fmt.Sprint(g.logged("not reloaded: what was there before stays")["err"])
		if !strings.Contains(why, "interlock.yaml:10:5") || !strings.Contains(why, "retain") {
			t.Errorf("the log says %q", why)
		}
		g.post("/orders", "").want(t, 400)
		g.get(g.health+"/readyz?verbose").want(t, 200, "[+] config", "[!] the last reload failed")
		g.get(g.admin+"/api/v1/rules").want(t, 200, `"ok":false`, "retian")
		g.again(422, "retain")
	})
	t.Run("what needs other listeners is refused, and named", func(t *testing.T) {
		write(t, name, strings.Replace(officeHead, ":0\nto", ":1\nto", 1)+officeRules, o.URL)
		await(t, "the log says so", func() bool {
			return strings.Contains(fmt.Sprint(g.logged("not reloaded: what was there before stays")["err"]), "listen cannot be changed while it runs")
		})
		g.post("/orders", "").want(t, 400)
	})
	t.Run("SIGHUP and the API read it again", func(t *testing.T) {
		write(t, name, officeHead+"rules: []\n", o.URL)
		if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		await(t, "the rule is gone", func() bool { return g.post("/orders", "").status == 201 })
		g.again(200, `"ok":true`)
		g.get(g.admin+"/api/v1/rules").want(t, 200, `"ok":true`)
		if text := g.get(g.health + "/readyz?verbose").text; strings.Contains(text, "[!]") {
			t.Errorf("it still says:\n%s", text)
		}
	})
}

// again has the API read the file.
func (g *gate) again(status int, words ...string) {
	g.t.Helper()
	ask(g.t, http.MethodPost, g.admin+"/api/v1/reload", "", `{"reason":"a test"}`).want(g.t, status, words...)
}

// SIGTERM under load: whoever was let in is answered, and the engine is closed last.
func TestServeEnd(t *testing.T) {
	t.Parallel()
	t.Run("whoever was let in is answered", func(t *testing.T) {
		t.Parallel()
		o := openOffice(t)
		o.slow.Store(int64(20 * time.Millisecond))
		s := redistest.Start(t)
		name := file(t, strings.Replace(officeHead, "memory", s.URL(), 1)+officeRules+"shutdown: {delay: 700ms, timeout: 20s}\n", o.URL)
		g := openGate(t, "serve", "--config", name)
		wrong, unanswered, answered := g.storm(16, func() {
			if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			await(t, "it is not ready any more", func() bool { return g.get(g.health+"/readyz").status == 503 })
			if a := g.get(g.url + "/"); a.err != nil || a.status != 200 || !a.last {
				t.Errorf("while it waits, clients are not told to go elsewhere: %d %v", a.status, a.err)
			}
		})
		if len(wrong) > 0 || len(unanswered) != 16 || answered < 100 {
			t.Errorf("%d requests were answered, and wrongly:\n%s", answered, strings.Join(wrong, "\n"))
		}
		for _, key := range unanswered { // the door was shut in front of them
			if n := o.ran(key); n != 0 {
				t.Errorf("%s was let in, and not answered", key)
			}
		}
		g.expect(t, 0)
		if g.logged("ended") == nil {
			t.Errorf("it has not closed everything:\n%s", &g.stderr)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		for key, n := range o.runs {
			if n != 1 {
				t.Errorf("%s ran %d times", key, n)
			}
		}
		if n := len(o.runs); n != answered {
			t.Errorf("%d orders ran, and %d were answered", n, answered)
		}
		if left := s.Must("KEYS", "*guard:claim*"); left != "" {
			t.Errorf("claims are left: %s", left)
		}
	})
	t.Run("who takes too long is cut off, and unknown", func(t *testing.T) {
		t.Parallel()
		o := openOffice(t)
		s := redistest.Start(t)
		name := file(t, strings.Replace(officeHead, "memory", s.URL(), 1)+"rules:\n  - match: POST /hang\n    once: hang:{header.Idempotency-Key}\n    scope: key\n    on-unknown: hold\n    lease: 1s\nshutdown: {timeout: 300ms}\n", o.URL)
		g := openGate(t, "serve", "--config", name)
		got := make(chan answer, 1)
		go func() { got <- g.post("/hang", somebody) }()
		await(t, "it is at work", func() bool { return strings.Contains(g.get(g.admin+"/api/v1/claims").text, "running") })
		g.interrupt(t)
		if a := <-got; a.err == nil && a.status < 500 {
			t.Errorf("the answer is %d %s", a.status, a.text)
		}
		g.expect(t, 0, "the rest is cut off")
		next := openGate(t, "serve", "--config", name)
		await(t, "its lease is over", func() bool { return strings.Contains(next.post("/hang", somebody).text, "outcome_unknown") })
	})
	t.Run("a second signal ends it at once", func(t *testing.T) {
		t.Parallel()
		o := openOffice(t)
		g := openGate(t, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
		go g.post("/hang", somebody)
		await(t, "it is at work", func() bool { return strings.Contains(g.get(g.admin+"/api/v1/claims").text, "running") })
		g.interrupt(t)
		await(t, "it is ending", func() bool { return g.logged("ending: not ready any more") != nil })
		began := time.Now()
		g.interrupt(t)
		if code := g.wait(t); code != -1 || time.Since(began) > 5*time.Second {
			t.Errorf("it ends with %d after %v, want by the signal, at once", code, time.Since(began))
		}
	})
}

// A gateway without a file makes nothing of SIGHUP, and so that ends it: its terminal is
// gone.
func TestProxyHangup(t *testing.T) {
	t.Parallel()
	// Who is told of a signal passes on no order to ignore it, such as that of nohup.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	g := openGate(t, "proxy", "--to", openOffice(t).URL, "--listen", "127.0.0.1:0", "--admin", "off")
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code := g.wait(t); code != -1 {
		t.Errorf("it ends with %d, want by the signal", code)
	}
}

// storm sends orders from several clients until nobody lets them in any more, and
// begins what is to happen when some have been answered. It returns the answers that
// are not as they should be, and the keys of those who got none: one a client, since
// then it stops.
func (g *gate) storm(clients int, happen func()) (wrong, unanswered []string, answered int) {
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
					once.Do(func() { all.Go(happen) })
				}
			}
		})
	}
	all.Wait()
	return wrong, unanswered, answered
}

func TestServeBegin(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	t.Run("a port that is taken is named, with what to do", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		at := l.Addr().String()
		start(t, nil, "proxy", "--to", o.URL, "--listen", at, "--admin", "off").expect(t, 1, "nobody can listen on "+at, "address already in use", "choose another address with --listen")
		start(t, nil, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", at).expect(t, 1, at, "--admin off")
	})
	t.Run("an engine that is away ends it with 5, and no password is told", func(t *testing.T) {
		t.Parallel()
		r := start(t, nil, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "off", "--redis", "redis://:geheim@127.0.0.1:1")
		r.expect(t, 5, "connection refused", "--wait-for-engine")
		if strings.Contains(r.stderr.String(), "geheim") {
			t.Errorf("it tells the password:\n%s", &r.stderr)
		}
		name := file(t, "engine: {quorum: [redis://127.0.0.1:1, redis://127.0.0.1:2, redis://127.0.0.1:3]}\nlisten: 127.0.0.1:0\nto: %s\nrules: []\n", o.URL)
		start(t, nil, "serve", "--config", name).expect(t, 5)
		name = file(t, "engine: {standby: [redis://127.0.0.1:1, redis://127.0.0.1:2]}\nlisten: 127.0.0.1:0\nto: %s\nrules: []\n", o.URL)
		start(t, nil, "serve", "--config", name).expect(t, 5)
	})
	t.Run("mistakes in the file are told, all of them", func(t *testing.T) {
		t.Parallel()
		start(t, nil, "serve", "--config", file(t, "engine: memroy\nto: x\n")).expect(t, 1, "did you mean memory?", "rules", "mistakes: 3")
		start(t, nil, "serve", "--config", filepath.Join(t.TempDir(), "none.yaml")).expect(t, 1, "there is no file", "interlock config init")
	})
}

func TestServeEngineAway(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	s := redistest.Start(t)
	s.Kill()
	g := openGate(t, "proxy", "--to", o.URL, "--listen", "127.0.0.1:0", "--admin", "off", "--health", "127.0.0.1:0", "--redis", s.URL(), "--wait-for-engine")
	g.post("/orders", somebody).want(t, 503, "store_unavailable")
	g.get(g.health+"/readyz?verbose").want(t, 503, "[-] engine")
	t.Run("who does without it is ready", func(t *testing.T) {
		name := file(t, strings.Replace(officeHead, "memory", s.URL(), 1)+officeRules+"    on-down: open\n", o.URL)
		open := openGate(t, "serve", "--config", name, "--wait-for-engine")
		if a := open.post("/orders", "another-order-0000005").want(t, 201); a.header.Get("Interlock-Unguarded") != "true" {
			t.Errorf("it does not say that nobody guarded it: %v", a.header)
		}
		open.get(open.health+"/readyz").want(t, 200)
	})
	g.get(g.health+"/livez").want(t, 200)
	g.get(g.health+"/api/v1/claims").want(t, 404)
	if n := o.ran(somebody); n != 0 {
		t.Fatalf("it ran %d times although nobody could write it down", n)
	}
	t.Run("it works by itself once the engine is there", func(t *testing.T) {
		s.Restart()
		await(t, "orders are taken", func() bool { return g.post("/orders", somebody).status == 201 })
		await(t, "it is ready", func() bool { return g.get(g.health+"/readyz").status == 200 })
	})
	t.Run("and again, if it goes later", func(t *testing.T) {
		s.Kill()
		await(t, "it is not ready", func() bool { return g.get(g.health+"/readyz").status == 503 })
		g.post("/orders", "another-order-0000003").want(t, 503, "store_unavailable")
		g.get(g.url+"/").want(t, 200, "the office")
		s.Restart()
		await(t, "orders are taken", func() bool { return g.post("/orders", "another-order-0000004").status == 201 })
	})
	if n := o.ran(somebody); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}
