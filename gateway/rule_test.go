package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// The parts of a key may come from any part of a request, and each must occur once.
func TestParts(t *testing.T) {
	js := field("Content-Type", "application/json")
	for _, c := range []struct {
		key, target, body string
		changes           []edit
		want              string // the key, or the code of the problem
	}{
		{"{path.id}", "/orders/7", "", nil, "7"},
		{"{path.id}", "/orders/a%20b", "", nil, "a b"},
		{"{query.no}", "/orders/7?no=42", "", nil, "42"},
		{"{query.no}", "/orders/7?no=42&no=43", "", nil, "key_invalid"},
		{"{query.no}", "/orders/7?no=42;no=43", "", nil, "key_invalid"},
		{"{query.no}", "/orders/7", "", nil, "key_missing"},
		{"{header.X-No}", "/orders/7", "", []edit{field("X-No", "1")}, "1"},
		{"{header.X-No}", "/orders/7", "", []edit{field("X-No", "1"), field("X-No", "2")}, "key_invalid"},
		{"{header.X-No}", "/orders/7", "", []edit{field("X-No", "1"), field("Connection", "X-No")}, "request_ambiguous"},
		{"{cookie.sid}", "/orders/7", "", []edit{field("Cookie", "sid=abc")}, "abc"},
		{"{cookie.sid}", "/orders/7", "", []edit{field("Cookie", "sid=abc; sid=d")}, "key_invalid"},
		{"{body.order.no}", "/orders/7", `{"order":{"no":"A-1"}}`, []edit{js}, "A-1"},
		{"{body.order.no}", "/orders/7", `{"order":{"no":12}}`, []edit{js}, "12"},
		{"{body.order.no}", "/orders/7", `{"order":{"no":1,"no":2}}`, []edit{js}, "key_invalid"},
		{"{body.order.no}", "/orders/7", `{"order":{}}`, []edit{js}, "key_missing"},
		{"{body.order.no}", "/orders/7", "no JSON", []edit{js}, "key_invalid"},
		{"{path.id}:{body.no}:x:{query.a}", "/orders/7:8?a=%7B", `{"no":"1:2"}`, []edit{js}, "7%3A8:1%3A2:x:%7B"},
		{"all", "/orders/7", "", nil, "all"},
	} {
		t.Run(c.key+" "+c.target+" "+c.body, func(t *testing.T) {
			s := open(t, withRules(on("POST /orders/{id}", rule.Once, c.key, guard.Policy{Name: "order"})), nil)
			got := s.send("POST", c.target, c.body, c.changes...)
			e := s.event()
			want := c.want
			if e.Code != "" {
				e.Key = e.Code
			} else {
				want = recordID(t, "order", want)
			}
			if e.Key != want || got.code() != interlockhttp.Code(e.Code) {
				t.Errorf("the event is %+v, and the client got %v; want %s", e, got, c.want)
			}
		})
	}
}

// A lock of the gateway and a lock of a directive with the same name are the same lock.
func TestTheNameOfALock(t *testing.T) {
	d := newGate()
	r := on("POST /orders/{id}", rule.Lock, "{path.id}", guard.Policy{Name: "pay"})
	s := open(t, withRules(r), d)
	client := interlock.New(nil)
	cfg := configFor(t, s, r)
	cfg.Namespace = "shop"
	g, err := gateway.New(cfg, gateway.Options{Client: client, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.front.Config.Handler = g
	var wg sync.WaitGroup
	wg.Go(func() { s.send("POST", "/orders/42", "x") })
	<-d.arrived
	if info, err := client.Inspect(t.Context(), "shop:pay:42"); err != nil || len(info.Holders) != 1 {
		t.Errorf("the lock shop:pay:42 is %+v, error %v; want one holder", info, err)
	}
	close(d.open)
	wg.Wait()
	if all := client.LockStats(); len(all) != 1 || all[0].Name != "pay" || all[0].Acquired != 1 {
		t.Errorf("the counters are %+v, want one lock with the rule's name", all)
	}
}

func TestOptional(t *testing.T) {
	r := orders()
	r.Optional = true
	s := open(t, withRules(r), nil)
	if got := s.send("POST", "/orders", "x"); got.StatusCode != http.StatusCreated {
		t.Errorf("a request without a key gets %v, want 201", got)
	}
	if e := s.event(); e.Outcome != "unguarded" {
		t.Errorf("the event is %+v, want the outcome unguarded", e)
	}
}

// A shadow rule reports what it would have done, and refuses nothing.
func TestShadow(t *testing.T) {
	lock := on("POST /orders", rule.Lock, "order", guard.Policy{Name: "order"})
	for name, r := range map[string]config.Rule{"once": orders(), "lock": lock} {
		t.Run(name, func(t *testing.T) {
			r.Shadow = true
			d := newGate()
			s := open(t, withRules(r), d)
			done := make(chan answer, 2)
			for range 2 {
				go func() { done <- s.send("POST", "/orders", "x", key("k")) }()
				<-d.arrived
			}
			close(d.open)
			outcomes := make(map[string]int)
			for range 2 {
				if got := <-done; got.text != "done" {
					t.Errorf("a request gets %v, want done", got)
				}
				outcomes[s.event().Outcome]++
			}
			if outcomes["ran"] != 1 || outcomes["shadowed"] != 1 {
				t.Errorf("the outcomes are %v, want one ran and one shadowed", outcomes)
			}
			if got := s.send("POST", "/orders", "x", func(r *http.Request) { r.Header.Del("X-User") }); got.text != "done" {
				t.Errorf("a request without a user gets %v, want done", got)
			}
		})
	}
}

// A shadow rule does not disable the rules after it, and refuses no ambiguous path.
func TestAShadowRuleBeforeAnother(t *testing.T) {
	shadow := on("POST /", rule.Lock, "all", guard.Policy{Name: "all"})
	shadow.Shadow = true
	s := open(t, withRules(shadow, orders()), nil)
	first, second := s.send("POST", "/orders", "x", key("k")), s.send("POST", "/orders", "x", key("k"))
	if first.StatusCode != http.StatusCreated || second.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the first request gets %v and the second %v, want 201 and a replay", first, second)
	}
	if got := s.send("POST", "/other//path", "x"); got.StatusCode != http.StatusCreated {
		t.Errorf("an ambiguous path gets %v, want 201", got)
	}
}

// A user gets a token for a form from GET /idempotent-token (requirement P1). The request
// with that token runs once.
func TestFormTokens(t *testing.T) {
	r := on("POST /orders", rule.Once, "{header.Idempotent-Token}", guard.Policy{Name: "order"})
	r.Form = "order"
	cfg := withRules(r)
	cfg.Tokens = &config.Tokens{}
	s := open(t, cfg, nil)
	getToken := func(path string, changes ...edit) (token string, got answer) {
		got = s.send("GET", path, "", changes...)
		var v struct{ Token string }
		json.Unmarshal([]byte(got.text), &v)
		return v.Token, got
	}
	token, got := getToken("/idempotent-token?form=order")
	if token == "" {
		t.Fatalf("the token endpoint answers %v, want a token", got)
	}
	submit := func(token string, changes ...edit) answer {
		return s.send("POST", "/orders", "x", append(changes, field("Idempotent-Token", token))...)
	}
	bob := func(r *http.Request) { r.Header.Set("X-User", "bob") }
	if got := submit(token, bob); got.code() != interlockhttp.TokenForeign {
		t.Errorf("bob, with the token of ann, gets %v, want token_foreign", got)
	}
	if got := submit(token); got.text != "1 /orders x" {
		t.Errorf("ann gets %v, want the first run", got)
	}
	if got := submit(token); got.text != "1 /orders x" || got.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("ann gets %v the second time, want a replay", got)
	}
	if got := submit("abc"); got.code() != interlockhttp.TokenUnknown {
		t.Errorf("a forged token gets %v, want token_unknown", got)
	}
	if token, _ = getToken("/idempotent-token"); token == "" {
		t.Error("a request without ?form= gets no token, although the file has one form")
	}
	if err := s.gateway.Reload(s.gateway.Config()); err != nil {
		t.Fatal(err)
	}
	if got := submit(token); got.StatusCode != http.StatusCreated {
		t.Errorf("after a reload, the token gets %v, want 201", got)
	}
	if _, got := getToken("/idempotent-token?form=other"); got.StatusCode != http.StatusNotFound || got.code() != gateway.FormUnknown || !strings.Contains(got.text, "with one of: order.") {
		t.Errorf("an unknown form gets %v, want 404 form_unknown with the known forms", got)
	}
	if _, got := getToken("/idempotent-token", func(r *http.Request) { r.Header.Del("X-User") }); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("a request for a token without a user gets %v, want 401", got)
	}
	if token, _ = getToken("/idempotent-token"); token == "" {
		t.Error("after a reload, a request gets no token")
	}
	want := guard.TokenStats{Issued: 3, Redeemed: 2, Used: 1, Unknown: 2}
	if got := guard.TokenStatsOf(s.client); len(got) != 1 || got["order"] != want {
		t.Errorf("the counters are %+v, want %+v for the form order", got, want)
	}
}

// The first rule that matches applies. If it has continue, the next rule that matches
// applies as well. A rule may have its own upstream.
func TestTheFirstMatchingRuleApplies(t *testing.T) {
	elsewhere := open(t, withRules(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "elsewhere") }))
	named := func(name, match string) config.Rule {
		return on(match, rule.Lock, "{header.X-No}", guard.Policy{Name: name})
	}
	vip := named("vip", "POST /orders")
	vip.Match.Header = map[string]string{"X-Vip": "*"}
	vip.Upstream = &config.Upstream{To: []*url.URL{parse(t, elsewhere.service.URL)}}
	gold := named("gold", "POST /orders")
	gold.Match.Header = map[string]string{"X-Level": "gold"}
	all := named("all", "POST /orders")
	all.Continue = true
	after := named("after", "POST /orders")
	never := named("never", "POST /orders")
	s := open(t, withRules(vip, gold, all, after, never), nil)
	for _, c := range []struct{ field, value, want string }{
		{"X-Vip", "1", "vip elsewhere"}, {"X-Level", "gold", "gold"}, {"X-Level", "tin", "after all"},
	} {
		got := s.send("POST", "/orders", "x", field("X-No", "1"), field(c.field, c.value))
		var names []string
		for len(s.events) > 0 {
			names = append(names, (<-s.events).Rule)
		}
		if got.text == "elsewhere" {
			names = append(names, "elsewhere")
		}
		if text := strings.Join(names, " "); text != c.want {
			t.Errorf("with %s: %s, the rules that ran are %q, want %q", c.field, c.value, text, c.want)
		}
	}
}

// The log contains no keys.
func TestTheLog(t *testing.T) {
	var (
		mu  sync.Mutex
		out bytes.Buffer
	)
	service := open(t, withRules(), nil)
	cfg := configFor(t, service, orders())
	g, err := gateway.New(cfg, gateway.Options{
		Client: interlock.New(nil),
		Log:    slog.New(slog.NewTextHandler(writer(func(p []byte) { mu.Lock(); defer mu.Unlock(); out.Write(p) }), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	service.front.Config.Handler = g
	service.send("POST", "/orders", "x", key("secret-key"))
	service.send("POST", "/orders", "y", key("secret-key"))
	service.send("GET", "/free", "")
	mu.Lock()
	defer mu.Unlock()
	text := out.String()
	if strings.Contains(text, "secret-key") || !strings.Contains(text, "key=85c6ad") && strings.Count(text, "key=") < 2 {
		t.Errorf("the log contains the key, or lacks the id of its record:\n%s", text)
	}
	for _, want := range []string{"outcome=ran", "code=key_reused", "outcome=unmatched", "name=order"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in the log:\n%s", want, text)
		}
	}
}

// A writer is an [io.Writer] that calls a function.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }
