package gateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// traffic waits until the gateway has finished all requests, and returns its counters. A
// client may have its response before the gateway has counted it.
func (s *site) traffic() gateway.Traffic {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); s.gateway.Traffic().InFlight > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal("requests are still in flight after a minute")
		}
	}
	return s.gateway.Traffic()
}

func (s *site) host() string { return parse(s.t, s.service.URL).Host }

func TestTraffic(t *testing.T) {
	form := on("POST /sign-up", rule.Once, "{header.Idempotent-Token}", guard.Policy{Name: "sign-up"})
	form.Form = "sign-up"
	cfg := withRules(orders(), on("POST /pay", rule.Lock, "k", guard.Policy{Name: "pay"}), form)
	cfg.Tokens = &config.Tokens{}
	s := open(t, cfg, nil)
	if got := s.traffic(); len(got.Rules) != 4 || got.Rules["pay"]["ran"] != 0 || len(got.Upstreams) != 1 {
		t.Errorf("before the first request the counters are %+v, want zeros for three rules and one server", got)
	}
	for range 2 {
		s.send("POST", "/orders", "{}", key("order-key-1"))
	}
	s.send("POST", "/orders", "{}") // without a key
	s.send("POST", "/pay", "{}")
	s.send("GET", "/elsewhere", "")
	s.send("GET", "/idempotent-token", "")
	s.send("POST", "//orders", "{}")
	got := s.traffic()
	for _, c := range []struct {
		rule, outcome string
		want          uint64
	}{
		{"order", "ran", 1},
		{"order", "replayed", 1},
		{"order", "refused", 1},
		{"pay", "ran", 1},
		{"", "unmatched", 1},
		{"", "token", 1},
		{"", "refused", 1},
	} {
		n := got.Rules[c.rule][c.outcome]
		if c.rule == "pay" {
			n += got.Rules["pay"]["waited"] // on a slow machine
		}
		if n != c.want {
			t.Errorf("rule %q, outcome %s: %d requests, want %d", c.rule, c.outcome, n, c.want)
		}
	}
	if n := got.Upstreams[s.host()].Took.Count; n != 3 {
		t.Errorf("the server has %d timings, want 3", n)
	}
}

func TestTrafficIsContinuedByAReload(t *testing.T) {
	s := open(t, withRules(orders()), nil)
	s.send("POST", "/orders", "{}", key("order-key-1"))
	changed := orders()
	changed.Policy.Retain = 2 * time.Hour
	added := on("POST /returns", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "return"})
	if err := s.gateway.Reload(configFor(t, s, changed, added)); err != nil {
		t.Fatal(err)
	}
	s.send("POST", "/orders", "{}", key("order-key-2"))
	got := s.traffic()
	if got.Rules["order"]["ran"] != 2 || got.Rules["return"] == nil || got.Upstreams[s.host()].Took.Count != 2 {
		t.Errorf("after a reload the counters are %+v, want two requests and the added rule", got)
	}
	if n := s.gateway.Stats()["order"].Verdicts[guard.Granted]; n != 2 {
		t.Errorf("the guard counts %d claims, want 2", n)
	}
}

func TestTrafficIsBounded(t *testing.T) {
	s := open(t, withRules(orders()), nil)
	for i := range 11 {
		var rules []config.Rule
		for j := range 100 {
			r := on(fmt.Sprintf("POST /%d/%d", i, j), rule.Lock, "k", guard.Policy{Name: fmt.Sprintf("rule-%d-%d", i, j)})
			if j < 20 {
				r.Upstream = &config.Upstream{To: []*url.URL{parse(t, fmt.Sprintf("http://10.0.%d.%d:80", i, j))}}
			}
			rules = append(rules, r)
		}
		if err := s.gateway.Reload(configFor(t, s, rules...)); err != nil {
			t.Fatal(err)
		}
	}
	s.send("POST", "/10/99", "")
	got := s.traffic()
	if rules, servers := len(got.Rules), len(got.Upstreams); rules != 1001 || servers != 101 {
		t.Errorf("after 1,100 rules and 220 servers there are %d and %d series, want 1001 and 101", rules, servers)
	}
	if n := got.Rules["other"]["ran"] + got.Rules["other"]["waited"]; n != 1 {
		t.Errorf("the last rule counts %d requests as other, want 1", n)
	}
}

// Each failure of a server has its word, and a failure of the client has none.
func TestTrafficCountsFailures(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := &url.URL{Scheme: "http", Host: free.Addr().String()}
	_ = free.Close()
	release := make(chan struct{})
	silent := func(http.ResponseWriter, *http.Request) { <-release }
	broken := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	for _, c := range []struct {
		word    string
		handler http.HandlerFunc
		change  func(*config.Config)
	}{
		{"unreachable", nil, func(c *config.Config) { c.Upstream.To = []*url.URL{dead} }},
		{"timeout", silent, func(c *config.Config) { c.Upstream.Answer = 10 * time.Millisecond }},
		{"broken", broken, nil},
	} {
		for _, path := range []string{"/orders", "/elsewhere"} {
			t.Run(c.word+" "+path, func(t *testing.T) {
				cfg := withRules(orders())
				if c.change != nil {
					c.change(cfg)
				}
				var h http.Handler
				if c.handler != nil {
					h = c.handler
				}
				s := open(t, cfg, h)
				if c.word == "timeout" {
					t.Cleanup(func() { release <- struct{}{} }) // before the server's Close, which waits for the handler
				}
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.front.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("X-User", "ann")
				r.Header.Set("Idempotency-Key", "order-key-1")
				if res, err := http.DefaultTransport.RoundTrip(r); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
				for host, up := range s.traffic().Upstreams {
					var total uint64
					for _, n := range up.Errors {
						total += n
					}
					if up.Errors[c.word] != 1 || total != 1 || up.Took.Count != 1 {
						t.Errorf("%s counts %v in %d requests, want one %s", host, up.Errors, up.Took.Count, c.word)
					}
				}
			})
		}
	}
	t.Run("cancelled", func(t *testing.T) {
		arrived := make(chan struct{})
		s := open(t, withRules(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(arrived)
			<-r.Context().Done()
		}))
		conn, err := net.Dial("tcp", parse(t, s.front.URL).Host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
		<-arrived
		_ = conn.Close()
		if got := s.traffic().Upstreams[s.host()].Errors; got["cancelled"] != 1 {
			t.Errorf("the server counts %v, want one request cancelled", got)
		}
	})
	t.Run("an invalid body", func(t *testing.T) {
		s := open(t, withRules(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) }))
		conn, err := net.Dial("tcp", parse(t, s.front.URL).Host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /slow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the gateway closes it
		_ = conn.Close()
		for word, n := range s.traffic().Upstreams[s.host()].Errors {
			if n != 0 {
				t.Errorf("the server counts %d requests as %s, and it did nothing wrong", n, word)
			}
		}
	})
}
