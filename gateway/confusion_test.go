package gateway_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// A lock for GET applies to HEAD as well.
func TestHeadIsLockedLikeGet(t *testing.T) {
	lock := on("GET /report", rule.Lock, "report", guard.Policy{Name: "report"})
	s := open(t, withRules(lock), nil)
	if got := s.send("HEAD", "/report", ""); got.StatusCode != http.StatusCreated {
		t.Fatalf("HEAD gets %v, want 201", got)
	}
	if e := s.event(); e.Rule != "report" || e.Outcome != "ran" && e.Outcome != "waited" { // a busy machine makes it wait
		t.Errorf("the event is %+v, want rule report and outcome ran or waited", e)
	}
}

// A part of the path that an upstream could read differently is refused as a key.
func TestAKeyFromThePathIsUnambiguous(t *testing.T) {
	pay := on("POST /orders/{id}/pay", rule.Lock, "{path.id}", guard.Policy{Name: "pay"})
	ship := on("POST /orders/{id}/ship", rule.Lock, "{header.X-No}", guard.Policy{Name: "ship"})
	s := open(t, withRules(pay, ship), nil)
	for path, want := range map[string]int{
		"/orders/7/pay": http.StatusCreated, "/orders/50%25/pay": http.StatusCreated, "/orders/%E4%BD%A0/pay": http.StatusCreated,
		"/orders/7;a/pay": http.StatusBadRequest, "/orders/7%3Ba/pay": http.StatusBadRequest, "/orders/%2537/pay": http.StatusBadRequest,
		"/orders/7;a/ship": http.StatusCreated,
	} {
		if got := s.send("POST", path, "x", field("X-No", "1")); got.StatusCode != want {
			t.Errorf("%s gets %v, want %d", path, got, want)
		}
	}
}

// Hosts that one rule matches with a wildcard do not share responses.
func TestHostsOfOneRule(t *testing.T) {
	r := orders()
	r.Match.Host = "*.example"
	s := open(t, withRules(r), nil)
	withHost := func(host string) edit { return func(r *http.Request) { r.Host = host } }
	if got := s.send("POST", "/orders", "x", key("k"), withHost("a.example")); got.StatusCode != http.StatusCreated {
		t.Fatalf("the first request gets %v, want 201", got)
	}
	if got := s.send("POST", "/orders", "x", key("k"), withHost("A.example:80")); got.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("a repeat to the same host gets %v, want a replay", got)
	}
	if got := s.send("POST", "/orders", "x", key("k"), withHost("b.example")); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a request to another host gets %v, want 422", got)
	}
}

// A request without a host cannot bypass a rule for a host.
func TestARequestWithoutAHost(t *testing.T) {
	r := orders()
	r.Match.Host = "shop.example"
	s := open(t, withRules(r), nil)
	for text, want := range map[string]int{
		"POST /orders HTTP/1.0\r\nX-User: ann\r\nContent-Length: 0\r\n\r\n":                       http.StatusBadRequest,
		"POST /free HTTP/1.0\r\nX-User: ann\r\nContent-Length: 0\r\n\r\n":                         http.StatusCreated,
		"POST /orders HTTP/1.0\r\nHost: blog.example\r\nX-User: ann\r\nContent-Length: 0\r\n\r\n": http.StatusCreated,
	} {
		if got := s.raw(text); len(got) != 1 || got[0] != want {
			t.Errorf("%q gets %v, want %d", text, got, want)
		}
	}
}

// If a client breaks off an unguarded request, the problem names the client, not the
// upstream.
func TestABodyThatBreaksOffWithoutAKey(t *testing.T) {
	r := orders()
	r.Optional = true
	for _, path := range []string{"/orders", "/free"} {
		s := open(t, withRules(r), nil)
		got := s.sendBytes("POST "+path+" HTTP/1.1\r\nHost: shop\r\nX-User: ann\r\nContent-Length: 10\r\n\r\nabc", true)
		if len(got) != 1 || got[0] != http.StatusBadRequest {
			t.Errorf("%s gets %v, want one 400", path, got)
		}
	}
}

// Events contain only the beginning of a long path.
func TestALongPathIsCut(t *testing.T) {
	s := open(t, withRules(on("POST /files/{rest...}", rule.Lock, "file", guard.Policy{Name: "file"})), nil)
	s.send("POST", "/files/"+strings.Repeat("x", 8000), "x")
	if e := s.event(); len(e.Path) > 1100 || !strings.HasPrefix(e.Path, "/files/xxx") {
		t.Errorf("the event has a path of %d bytes, want at most 1100: %.40s", len(e.Path), e.Path)
	}
}

// Tokens work for a rule without methods.
func TestTokensOfARuleForAnyMethod(t *testing.T) {
	r := on("* /orders", rule.Once, "{header.Idempotent-Token}", guard.Policy{Name: "order"})
	r.Form = "order"
	cfg := withRules(r)
	cfg.Tokens = &config.Tokens{}
	s := open(t, cfg, nil)
	if got := s.send("GET", "/idempotent-token", ""); got.StatusCode != http.StatusOK || !strings.Contains(got.text, "token") {
		t.Errorf("the token endpoint answers %v, want 200 with a token", got)
	}
}

// The log of refusals contains no keys.
func TestTheLogOfRefusals(t *testing.T) {
	var (
		mu  sync.Mutex
		out bytes.Buffer
	)
	d := newGate()
	lock := on("POST /lock", rule.Lock, "{header.X-No}", guard.Policy{Name: "pay"})
	lock.Do.Wait = rule.Try
	outer := on("POST /lock", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "outer"})
	outer.Continue, outer.Optional = true, true
	s := open(t, withRules(), d)
	g, err := gateway.New(configFor(t, s, outer, lock, orders()), gateway.Options{
		Client: interlock.New(nil),
		Log:    slog.New(slog.NewTextHandler(writer(func(p []byte) { mu.Lock(); defer mu.Unlock(); out.Write(p) }), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.front.Config.Handler = g
	var wg sync.WaitGroup
	wg.Go(func() { s.send("POST", "/lock", "x", field("X-No", "secret-7")) })
	wg.Go(func() { s.send("POST", "/orders", "x", key("secret-8")) })
	<-d.arrived
	<-d.arrived
	s.send("POST", "/lock", "x", field("X-No", "secret-7"))
	s.send("POST", "/lock", "x", field("X-No", "secret-7"), key("secret-6"))
	s.send("POST", "/orders", "x", key("secret-8"))
	s.send("POST", "/orders", "x", key("secret-\x01"))
	s.send("POST", "/lock", "x", field("X-No", "secret-"+strings.Repeat("9", 2000)))
	close(d.open)
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	text := out.String()
	if strings.Contains(text, "secret-") || !strings.Contains(text, "code=locked") || !strings.Contains(text, "code=in_progress") {
		t.Errorf("the log contains a key, or lacks the codes locked or in_progress:\n%s", text)
	}
}

// If two reloads remove a rule and add it again, a request that started before them can
// still use it.
func TestTwoReloadsDuringARequest(t *testing.T) {
	s := open(t, withRules(orders()), nil)
	full, without := *s.gateway.Config(), *s.gateway.Config()
	without.Rules = nil
	conn, err := net.Dial("tcp", s.front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(conn, "POST /orders HTTP/1.1\r\nHost: shop\r\nX-User: ann\r\nIdempotency-Key: k\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	in := bufio.NewReader(conn)
	readLine := func() string {
		line, _ := textproto.NewReader(in).ReadLine()
		return line
	}
	if got := readLine(); got != "HTTP/1.1 100 Continue" { // the request has entered, and its body is pending
		t.Fatalf("the first line is %q, want 100 Continue", got)
	}
	readLine() // an empty line
	for _, cfg := range []config.Config{full, without, full} {
		if err := s.gateway.Reload(&cfg); err != nil {
			t.Fatal(err)
		}
		if got := s.send("POST", "/orders", "x", key("other")); got.StatusCode != http.StatusCreated {
			t.Fatalf("a request after a reload gets %v, want 201", got)
		}
	}
	io.WriteString(conn, "slow")
	if got := readLine(); got != "HTTP/1.1 201 Created" {
		t.Errorf("the request that began before the reloads gets %q, want 201", got)
	}
}
