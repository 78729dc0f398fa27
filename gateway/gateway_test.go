package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// A site is an upstream with a gateway in front.
type site struct {
	t       *testing.T
	runs    atomic.Int64 // requests to the upstream
	service *httptest.Server
	client  *interlock.Client
	gateway *gateway.Gateway
	front   *httptest.Server
	events  chan gateway.Event
	engine  engine.Engine // nil: the memory engine

	contexts chan context.Context // the contexts of requests; nil before collectContexts
}

// withRules returns a configuration with rules. It trusts every client on this machine as
// a proxy.
func withRules(rules ...config.Rule) *config.Config {
	return &config.Config{
		File:      "interlock.yaml",
		Trusted:   []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Principal: config.Principal{Header: "X-User"},
		Rules:     rules,
	}
}

// on returns a rule for requests such as "POST /orders".
func on(match string, verb rule.Verb, key string, p guard.Policy) config.Rule {
	method, path, _ := strings.Cut(match, " ")
	r := config.Rule{Match: config.Match{Methods: strings.Split(method, ","), Path: path}, Policy: p}
	if method == "*" {
		r.Match.Methods = nil
	}
	r.Do = rule.Rule{Verb: verb, Name: p.Name, Key: key}
	if key != "" {
		t, err := rule.ParseTemplate(key, rule.Pos{Line: 1, Col: 1})
		if err != nil {
			panic(err)
		}
		r.Key = t
	}
	return r
}

// orders returns the rule of most tests: an order is placed once per key.
func orders() config.Rule {
	return on("POST /orders", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "order"})
}

// count is an upstream that answers with the number of its requests.
func (s *site) count(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Location", "/orders/1")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "%d %s %s", s.runs.Add(1), r.URL.Path, body)
}

// open opens a site with the upstream h. If h is nil, the upstream is count.
func open(t *testing.T, cfg *config.Config, h http.Handler) *site {
	t.Helper()
	return openOn(t, nil, cfg, h)
}

// openOn opens a site with an engine.
func openOn(t *testing.T, e engine.Engine, cfg *config.Config, h http.Handler) *site {
	t.Helper()
	s := &site{t: t, engine: e, events: make(chan gateway.Event, 1000)}
	if h == nil {
		h = http.HandlerFunc(s.count)
	}
	s.service = httptest.NewServer(h)
	t.Cleanup(s.service.Close)
	if cfg.Upstream.To == nil {
		cfg.Upstream.To = []*url.URL{parse(t, s.service.URL)}
	}
	s.start(cfg)
	return s
}

// start starts the gateway.
func (s *site) start(cfg *config.Config) {
	s.t.Helper()
	client := interlock.New(s.engine)
	g, err := gateway.New(cfg, gateway.Options{
		Client: client, Log: slog.New(slog.DiscardHandler),
		Events: func(e gateway.Event) { s.events <- e },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.client, s.gateway = client, g
	s.front = httptest.NewUnstartedServer(g)
	server, err := g.Server()
	if err != nil {
		s.t.Fatal(err)
	}
	s.front.Config = server
	s.front.Start()
	s.t.Cleanup(func() {
		s.front.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			s.t.Errorf("the gateway did not close: %v", err)
		}
		_ = client.Close(ctx)
	})
}

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// An answer is a response, or an error.
type answer struct {
	*http.Response
	text string
	err  error
}

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%d %q", a.StatusCode, a.text)
}

// code returns the code of the problem in an answer, or "".
func (a answer) code() interlockhttp.Code {
	if a.Response == nil {
		return ""
	}
	a.Body = io.NopCloser(strings.NewReader(a.text))
	p, _ := interlockhttp.ReadProblem(a.Response)
	if p == nil {
		return ""
	}
	return p.Code
}

// An edit changes a request before it is sent.
type edit func(*http.Request)

func field(name, value string) edit { return func(r *http.Request) { r.Header.Add(name, value) } }
func key(k string) edit             { return field("Idempotency-Key", k) }

// send sends a request of the user ann. The changes may set another user.
func (s *site) send(method, path, body string, changes ...edit) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.front.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body == "" {
		r.Body, r.GetBody = http.NoBody, nil
	}
	r.Header.Set("X-User", "ann")
	for _, change := range changes {
		change(r)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp, string(text), err}
}

// event returns the next event.
func (s *site) event() gateway.Event {
	s.t.Helper()
	select {
	case e := <-s.events:
		return e
	case <-time.After(5 * time.Second):
		s.t.Fatal("no event was reported")
		panic("unreachable")
	}
}

// The gateway protects a service that is not changed for it. That is requirement P8:
// business code does not change.
func TestAServiceBehindTheGateway(t *testing.T) {
	s := open(t, withRules(orders()), nil)
	first := s.send("POST", "/orders", "shoe", key("a-1"))
	if first.StatusCode != http.StatusCreated || first.text != "1 /orders shoe" {
		t.Fatalf("the first request gets %v, want 201 1 /orders shoe", first)
	}
	again := s.send("POST", "/orders", "shoe", key("a-1"))
	if again.text != first.text || again.StatusCode != first.StatusCode || again.Header.Get("Idempotent-Replayed") != "true" || again.Header.Get("Location") != "/orders/1" {
		t.Errorf("a repeat gets %v %v, want a replay of %v", again, again.Header, first)
	}
	if e := s.event(); e.Outcome != "ran" || e.Rule != "order" || e.Key != recordID(t, "order", "a-1") || e.Status != http.StatusCreated {
		t.Errorf("the event is %+v, want rule order ran with 201 and the id of its record", e)
	}
	if e := s.event(); e.Outcome != "replayed" {
		t.Errorf("the event is %+v, want the outcome replayed", e)
	}
	if got := s.send("POST", "/other", "x"); got.text != "2 /other x" {
		t.Errorf("a request without a rule gets %v, want 2 /other x", got)
	}
}

// discardLog is for servers that are expected to fail.
var discardLog = log.New(io.Discard, "", 0)
