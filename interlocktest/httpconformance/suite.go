package httpconformance

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
)

// A testCase is one case of the suite.
type testCase struct {
	name string
	run  func(*suite)
}

// Run tests a framework. It prints how many cases passed.
func Run(t *testing.T, f Framework) {
	var all []testCase
	for _, cases := range [][]testCase{onceCases, outcomeCases, responseCases, requestCases, lockCases, limitCases} {
		all = append(all, cases...)
	}
	known := make(map[string]bool)
	var passed, lacking atomic.Int64
	t.Run("cases", func(t *testing.T) {
		for _, c := range all {
			known[c.name] = true
			t.Run(c.name, func(t *testing.T) {
				if why, ok := f.Lacks[c.name]; ok {
					lacking.Add(1)
					t.Skip(f.Name + ": " + why)
				}
				c.run(newSuite(t, f))
				if !t.Failed() {
					passed.Add(1)
				}
			})
		}
	})
	for name := range f.Lacks {
		if !known[name] {
			t.Errorf("Lacks: there is no case %q", name)
		}
	}
	t.Logf("%s: %d of %d cases passed; %d that the framework lacks", f.Name, passed.Load(), len(all)-int(lacking.Load()), lacking.Load())
}

// patience is how long a test waits for an event that must happen.
const patience = time.Minute

// A suite is one case with its engine, client and server.
type suite struct {
	*testing.T
	framework Framework
	world     *interlocktest.World
	client    *interlock.Client
	runs      atomic.Int64 // runs of the handler
	url       string
	transport *http.Transport
}

func newSuite(t *testing.T, f Framework) *suite {
	world := interlocktest.New(t)
	s := &suite{T: t, framework: f, world: world, client: world.Client(), transport: &http.Transport{MaxConnsPerHost: 200}}
	return s
}

// once returns the middleware for a policy. Its Close is called when the test ends.
func (s *suite) once(p guard.Policy, opts ...interlockhttp.Option) func(http.Handler) http.Handler {
	s.Helper()
	return s.guarded(interlockhttp.Once(s.client, p, append([]interlockhttp.Option{s.framework.User}, opts...)...))
}

// submit is once for Submit.
func (s *suite) submit(p guard.Policy, opts ...interlockhttp.Option) func(http.Handler) http.Handler {
	s.Helper()
	return s.guarded(interlockhttp.Submit(s.client, p, append([]interlockhttp.Option{s.framework.User}, opts...)...))
}

func (s *suite) guarded(m *interlockhttp.Middleware, err error) func(http.Handler) http.Handler {
	s.Helper()
	s.check(err)
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			s.Errorf("close: %v", err)
		}
	})
	return m.Wrap
}

// serve serves one route for POST requests. Runs of the handler are counted.
func (s *suite) serve(path string, handle func(Exchange) error, wraps ...func(http.Handler) http.Handler) {
	s.Helper()
	s.serveRoutes(Route{Method: http.MethodPost, Path: path, Wraps: wraps, Handle: handle})
}

func (s *suite) serveRoutes(routes ...Route) {
	s.Helper()
	for i, r := range routes {
		if r.Handle == nil {
			continue
		}
		routes[i].Handle = func(x Exchange) error {
			s.runs.Add(1)
			return r.Handle(x)
		}
	}
	s.url = s.framework.Serve(s, routes)
	s.Cleanup(s.transport.CloseIdleConnections) // a server that stops may wait for them
}

// A reply is the response to a request.
type reply struct {
	status  int
	header  http.Header
	body    string
	trailer http.Header
	err     error // why there was no complete response
}

// A call is a request.
type call struct {
	method string // default: POST
	path   string // default: /orders
	header []string
	body   string
	reader io.Reader // instead of body
	ctx    context.Context
}

// keyed returns a call with a key.
func keyed(key string, header ...string) call {
	return call{header: append([]string{"Idempotency-Key", key}, header...)}
}

// send sends a request as the user ann, unless its header names another.
func (s *suite) send(c call) reply {
	if c.method == "" {
		c.method = http.MethodPost
	}
	if c.path == "" {
		c.path = "/orders"
	}
	if c.ctx == nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c.ctx = ctx
	}
	body := c.reader
	if body == nil {
		body = strings.NewReader(c.body)
	}
	r, err := http.NewRequestWithContext(c.ctx, c.method, s.url+c.path, body)
	if err != nil {
		return reply{err: err}
	}
	r.Header.Set(FieldUser, "ann")
	for i := 0; i+1 < len(c.header); i += 2 {
		if c.header[i+1] == "" {
			r.Header.Del(c.header[i])
			continue
		}
		if r.Header.Get(c.header[i]) != "" && c.header[i] != FieldUser {
			r.Header.Add(c.header[i], c.header[i+1])
			continue
		}
		r.Header.Set(c.header[i], c.header[i+1])
	}
	resp, err := s.transport.RoundTrip(r)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, body: string(text), trailer: resp.Trailer, err: err}
}

// start sends a request in the background. The returned function waits for its reply.
func (s *suite) start(c call) (wait func() reply) {
	got := make(chan reply, 1)
	go func() { got <- s.send(c) }()
	return func() reply {
		s.Helper()
		return receive(s, got, "a reply")
	}
}

// receive waits for an event.
func receive[T any](s *suite, from <-chan T, what string) (v T) {
	s.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		s.Fatalf("%s did not come", what)
	}
	return v
}

// wantStatus checks the status of a reply, and the code of its problem unless that is empty.
func (s *suite) wantStatus(what string, r reply, status int, code interlockhttp.Code) {
	s.Helper()
	if r.err != nil || r.status != status || !strings.Contains(r.body, string(code)) {
		s.Errorf("%s: got %d %q (%v), want %d %s", what, r.status, r.body, r.err, status, code)
	}
}

// wantReplay checks that again is a replay of first.
func (s *suite) wantReplay(first, again reply) {
	s.Helper()
	if again.err != nil || again.status != first.status || again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
		s.Errorf("got %d %q (%v) %v, want a replay of %d %q", again.status, again.body, again.err, again.header, first.status, first.body)
	}
	if first.header.Get("Idempotent-Replayed") != "" {
		s.Errorf("the first response is marked as a replay")
	}
}

// wantRuns checks how often the handler ran.
func (s *suite) wantRuns(n int64) {
	s.Helper()
	if got := s.runs.Load(); got != n {
		s.Errorf("the handler ran %d times, want %d", got, n)
	}
}

func (s *suite) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// A gate holds handlers until the test opens it.
type gate struct {
	entered chan struct{} // gets a value for each handler that arrives
	open    chan struct{}
	once    sync.Once
}

func newGate(s *suite) *gate {
	g := &gate{entered: make(chan struct{}, 1000), open: make(chan struct{})}
	s.Cleanup(g.release)
	return g
}

// pass waits until the gate is open.
func (g *gate) pass() {
	g.entered <- struct{}{}
	<-g.open
}

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

// created is a handler that numbers its responses.
func (s *suite) created(x Exchange) error {
	x.SetHeader("Location", "/orders/1")
	body, err := x.Body()
	if err != nil {
		return err
	}
	return x.Send(http.StatusCreated, "order "+body)
}
