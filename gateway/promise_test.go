package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// A gate is an upstream that answers when the test opens it.
type gate struct {
	arrived  chan struct{} // has an element for each request that arrived
	open     chan struct{} // closed by the test, so that all requests are answered
	canceled chan struct{} // has an element for each request that was canceled
}

func newGate() *gate {
	return &gate{arrived: make(chan struct{}, 100), open: make(chan struct{}), canceled: make(chan struct{}, 100)}
}

func (d *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.ReadAll(r.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	d.arrived <- struct{}{}
	select {
	case <-d.open:
	case <-r.Context().Done():
		d.canceled <- struct{}{}
	}
	io.WriteString(w, "done")
}

// The gateway answers with the same problems as package interlockhttp, so that the code of
// a service need not change (requirement P8). A number in a name is a row of the security
// table in docs/traps.md.
func TestResponses(t *testing.T) {
	twice := func(r *http.Request) { r.Header["Idempotency-Key"] = []string{"k", "l"} }
	for _, c := range []struct {
		name    string
		first   bool // a request with the key k and the body shoe is sent before
		body    string
		changes []edit
		status  int
		code    interlockhttp.Code
	}{
		{name: "no key", body: "shoe", status: 400, code: interlockhttp.KeyMissing},
		{name: "two keys", body: "shoe", changes: []edit{twice}, status: 400, code: interlockhttp.KeyInvalid},
		{name: "an invalid key", body: "shoe", changes: []edit{key("a\xffb")}, status: 400, code: interlockhttp.KeyInvalid},
		{name: "a repeat", first: true, body: "shoe", changes: []edit{key("k")}, status: 201},
		{name: "the same key in quotation marks", first: true, body: "shoe", changes: []edit{key(`"k"`)}, status: 201},
		{name: "another body", first: true, body: "hat", changes: []edit{key("k")}, status: 422, code: interlockhttp.KeyReused},
		{name: "27: the same body with one more space", first: true, body: "shoe ", changes: []edit{key("k")}, status: 422, code: interlockhttp.KeyReused},
		{name: "no user", body: "shoe", changes: []edit{key("k"), func(r *http.Request) { r.Header.Del("X-User") }}, status: 401, code: interlockhttp.UserMissing},
		{name: "two users", body: "shoe", changes: []edit{key("k"), field("X-User", "bob")}, status: 401, code: interlockhttp.UserMissing},
		{name: "12: a body that is too large", body: strings.Repeat("x", 2000), changes: []edit{key("k")}, status: 413, code: interlockhttp.BodyTooLarge},
		{name: "12: a body of unknown size that is too large", body: strings.Repeat("x", 2000), changes: []edit{key("k"), func(r *http.Request) { r.ContentLength = -1 }}, status: 413, code: interlockhttp.BodyTooLarge},
		{name: "23: an upgrade", body: "shoe", changes: []edit{key("k"), field("Connection", "Upgrade"), field("Upgrade", "websocket")}, status: 400, code: interlockhttp.UpgradeRefused},
		{name: "3: a key that Connection removes", body: "shoe", changes: []edit{key("k"), field("Connection", "Idempotency-Key")}, status: 400, code: interlockhttp.RequestAmbiguous},
		{name: "3: a user that Connection removes", body: "shoe", changes: []edit{key("k"), field("Connection", "close, x-user")}, status: 400, code: interlockhttp.RequestAmbiguous},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := withRules(orders())
			cfg.Limits.Body = 1000
			s := open(t, cfg, nil)
			want := int64(0)
			if c.first {
				s.send("POST", "/orders", "shoe", key("k"))
				want = 1
			}
			got := s.send("POST", "/orders", c.body, c.changes...)
			if got.err != nil || got.StatusCode != c.status || got.code() != c.code {
				t.Fatalf("the response is %v, want %d %s", got, c.status, c.code)
			}
			if got.StatusCode >= 400 && got.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("the content type is %q, want application/problem+json", got.Header.Get("Content-Type"))
			}
			if n := s.runs.Load(); n != want {
				t.Errorf("the upstream ran %d times, want %d", n, want)
			}
		})
	}
}

func TestTwoUsersWithOneKey(t *testing.T) {
	s := open(t, withRules(orders()), nil)
	bob := func(r *http.Request) { r.Header.Set("X-User", "bob") }
	a, b := s.send("POST", "/orders", "x", key("k")), s.send("POST", "/orders", "x", key("k"), bob)
	if a.text != "1 /orders x" || b.text != "2 /orders x" {
		t.Errorf("ann gets %v and bob gets %v, want two runs", a, b)
	}
}

func TestADuplicateOfARunningRequest(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   config.Rule
		status int
		code   interlockhttp.Code
	}{
		{"once", orders(), 409, interlockhttp.InProgress},
		{"submit", on("POST /orders", rule.Submit, "{header.Idempotency-Key}", guard.Form("order")), 429, interlockhttp.InProgress},
		{"lock", func() config.Rule {
			r := on("POST /orders", rule.Lock, "{header.Idempotency-Key}", guard.Policy{Name: "order"})
			r.Do.Wait = rule.Try
			return r
		}(), 423, interlockhttp.Locked},
		{"a lock for writers", func() config.Rule {
			r := on("POST /orders", rule.Lock, "{header.Idempotency-Key}", guard.Policy{Name: "order"})
			r.Do.Wait, r.Do.Kind = rule.Try, rule.Write
			return r
		}(), 423, interlockhttp.Locked},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newGate()
			s := open(t, withRules(c.rule), d)
			var first answer
			var wg sync.WaitGroup
			wg.Go(func() { first = s.send("POST", "/orders", "x", key("k-1")) })
			<-d.arrived
			second := s.send("POST", "/orders", "x", key("k-1"))
			close(d.open)
			wg.Wait()
			if second.err != nil || second.StatusCode != c.status || second.code() != c.code {
				t.Errorf("the duplicate gets %v, want %d %s", second, c.status, c.code)
			}
			if n, err := strconv.Atoi(second.Header.Get("Retry-After")); err != nil || n < 1 {
				t.Errorf("Retry-After is %q, want at least 1 second", second.Header.Get("Retry-After"))
			}
			if first.text != "done" || len(d.arrived) != 0 {
				t.Errorf("the first request gets %v, and %d further requests reached the upstream, want none", first, len(d.arrived))
			}
		})
	}
}

// If a client disconnects, its lock stays held while the upstream works.
func TestAClientThatDisconnects(t *testing.T) {
	lock := on("POST /orders", rule.Lock, "{header.Idempotency-Key}", guard.Policy{Name: "order"})
	lock.Do.Wait = rule.Try
	for name, r := range map[string]config.Rule{"once": orders(), "lock": lock} {
		t.Run(name, func(t *testing.T) {
			d := newGate()
			s := open(t, withRules(r), d)
			s.collectContexts()
			ctx, disconnect := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { s.send("POST", "/orders", "x", key("k"), func(r *http.Request) { *r = *r.WithContext(ctx) }) })
			<-d.arrived
			disconnected := s.disconnected()
			disconnect()
			wg.Wait()
			<-disconnected
			select {
			case <-d.canceled:
				t.Error("the request to the upstream was canceled")
			case <-time.After(50 * time.Millisecond): // nothing must happen
			}
			if got := s.send("POST", "/orders", "x", key("k")); got.code() != interlockhttp.InProgress && got.code() != interlockhttp.Locked {
				t.Errorf("the next request gets %v, want in_progress or locked", got)
			}
			close(d.open)
			s.event()
			s.event()
			got := s.send("POST", "/orders", "x", key("k"))
			if got.text != "done" || name == "once" && got.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("after the upstream has answered, a repeat gets %v, want done, as a replay if the rule is once", got)
			}
		})
	}
}

// collectContexts makes the site collect the contexts of requests.
func (s *site) collectContexts() {
	s.contexts = make(chan context.Context, 100)
	s.front.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.contexts <- r.Context()
		s.gateway.ServeHTTP(w, r)
	})
}

// disconnected returns a channel that is closed once the server has noticed that the first
// client disconnected.
func (s *site) disconnected() <-chan struct{} { return (<-s.contexts).Done() }

func TestAResponseTooLargeToStore(t *testing.T) {
	cfg := withRules(orders())
	cfg.Limits.Response = 1000
	big := strings.Repeat("x", 5000)
	for name, flush := range map[string]bool{"with its length": false, "in chunks": true} {
		t.Run(name, func(t *testing.T) {
			cfg := *cfg
			cfg.Upstream.To = nil
			var s *site
			s = open(t, &cfg, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				s.runs.Add(1)
				if flush {
					http.NewResponseController(w).Flush()
				}
				io.WriteString(w, big)
			}))
			if got := s.send("POST", "/orders", "x", key("k")); got.text != big {
				t.Errorf("the first request gets %d bytes, error %v; want all %d", len(got.text), got.err, len(big))
			}
			if got := s.send("POST", "/orders", "x", key("k")); got.code() != interlockhttp.ResultUnavailable || s.runs.Load() != 1 {
				t.Errorf("a repeat gets %v, and the upstream ran %d times; want result_unavailable and 1 run", got, s.runs.Load())
			}
		})
	}
}

// A response in chunks, or with a trailer, is stored as well.
func TestAChunkedResponseIsStored(t *testing.T) {
	s := open(t, withRules(orders()), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusProcessing)
		for range 3 {
			io.WriteString(w, "piece ")
			http.NewResponseController(w).Flush()
		}
		w.Header().Set("X-Sum", "3")
	}))
	first, again := s.send("POST", "/orders", "x", key("k")), s.send("POST", "/orders", "x", key("k"))
	if first.text != "piece piece piece " || again.text != first.text || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the first request gets %v and a repeat gets %v, want the same response, replayed", first, again)
	}
	if first.Trailer != nil { // the gateway drops trailers of stored responses
		t.Errorf("the response has the trailer %v, want none", first.Trailer)
	}
}

// A request with a slow body is refused, and holds neither a lock nor a claim.
func TestASlowBody(t *testing.T) {
	lock := on("POST /orders", rule.Lock, "order", guard.Policy{Name: "order"})
	for name, r := range map[string]config.Rule{"once": orders(), "lock": lock} {
		t.Run(name, func(t *testing.T) {
			cfg := withRules(r)
			cfg.Timeouts.Body = 100 * time.Millisecond
			s := open(t, cfg, nil)
			slow, end := io.Pipe()
			defer end.Close()
			go end.Write([]byte("a"))
			got := s.send("POST", "/orders", "x", key("k"), func(r *http.Request) { r.Body, r.ContentLength = slow, 10 })
			if got.code() != interlockhttp.BodyLate || s.runs.Load() != 0 {
				t.Errorf("the slow request gets %v, and the upstream ran %d times; want %s and no run", got, s.runs.Load(), interlockhttp.BodyLate)
			}
			if got := s.send("POST", "/orders", "x", key("k")); got.StatusCode != http.StatusCreated {
				t.Errorf("the next request gets %v, want 201", got)
			}
		})
	}
}

// If a client disconnects during the response, the outcome is still known.
func TestAClientThatDisconnectsDuringTheResponse(t *testing.T) {
	cfg := withRules(charge())
	cfg.Limits.Response = 1000
	var s *site
	piece := strings.Repeat("x", 1<<20)
	s = open(t, cfg, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.runs.Add(1)
		for range 64 {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}))
	conn, err := net.Dial("tcp", s.front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "POST /orders HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nIdempotency-Key: k\r\nContent-Length: 1\r\n\r\nx")
	io.ReadFull(conn, make([]byte, 10))
	conn.Close()
	if e := s.event(); e.Outcome != "ran" {
		t.Errorf("the event is %+v, want the outcome ran", e)
	}
	if got := s.send("POST", "/orders", "x", key("k")); got.code() != interlockhttp.ResultUnavailable || s.runs.Load() != 1 {
		t.Errorf("a repeat gets %v, and the upstream ran %d times; want result_unavailable and 1 run", got, s.runs.Load())
	}
}

// A rule without methods guards all methods that change something, and refuses unknown
// methods.
func TestAnyMethod(t *testing.T) {
	s := open(t, withRules(on("* /orders", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "order"})), nil)
	for method, want := range map[string]interlockhttp.Code{
		"GET": "", "HEAD": "", "OPTIONS": "", "POST": interlockhttp.KeyMissing, "PUT": interlockhttp.KeyMissing,
		"PATCH": interlockhttp.KeyMissing, "DELETE": interlockhttp.KeyMissing, "PURGE": interlockhttp.RequestAmbiguous, "get": interlockhttp.RequestAmbiguous,
	} {
		if got := s.send(method, "/orders", ""); got.code() != want {
			t.Errorf("%s gets %v, want the code %q", method, got, want)
		}
	}
}
