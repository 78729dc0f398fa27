package admin_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// openConfig grants every client on this machine access, without tokens.
func openConfig() *config.Admin { return &config.Admin{Listen: "127.0.0.1:7070", Open: true} }

// abandonClaim creates a claim with an unknown outcome, and returns its id.
func abandonClaim(t *testing.T, g *guard.Guard[string], key string) string {
	t.Helper()
	_, c, err := g.Begin(t.Context(), guard.ID(key))
	if err == nil {
		err = c.Abandon()
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := g.Lookup(t.Context(), guard.ID(key))
	if err != nil || s.State != engine.Unknown {
		t.Fatalf("the claim is %v, error %v; want an unknown outcome", s.State, err)
	}
	return s.Key
}

// result returns what a caller gets, after this process's cache has expired.
func result(t *testing.T, g *guard.Guard[string], key string) (string, error) {
	t.Helper()
	time.Sleep(guard.DefaultLocalCache)
	return g.Do(t.Context(), guard.ID(key), func(context.Context) (string, error) { return "ran", nil })
}

func TestClaims(t *testing.T) {
	t.Run("claims are listed by guard, state and pattern", func(t *testing.T) {
		w := open(t)
		g := w.orders()
		unknown := abandonClaim(t, g, "a")
		if _, err := result(t, g, "b"); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string]int{
			"": 2, "?guard=order": 2, "?guard=refund": 0, "?state=unknown": 1, "?state=done": 1, "?state=running": 0,
			"?pattern=order:*": 2, "?pattern=refund*": 0, "?guard=order&pattern=nothing*": 0, "?guard=order&state=done&pattern=*": 1,
		} {
			var list admin.Claims
			if w.get("/api/v1/claims" + query).into(&list); len(list.Claims) != want {
				t.Errorf("the query %q lists %+v, want %d claims", query, list.Claims, want)
			}
		}
		var c admin.ClaimDetail
		w.get(pathOf("claims", unknown)).into(&c)
		if c.ID != unknown || c.Guard != "order" || c.State != "unknown" || c.Fence == 0 || c.TTLMS <= 0 || c.Began.IsZero() || c.Result != nil {
			t.Errorf("the claim is %+v, want the record %s of order: unknown, with a fence and a time left", c, unknown)
		}
	})
	t.Run("a stored result is described, not shown", func(t *testing.T) {
		w := open(t)
		g := w.orders()
		_, err := g.Do(t.Context(), guard.ID("a"), func(context.Context) (string, error) { return "a secret", nil })
		if err != nil {
			t.Fatal(err)
		}
		s, _ := g.Lookup(t.Context(), guard.ID("a"))
		r := w.get(pathOf("claims", s.Key))
		var c admin.ClaimDetail
		r.into(&c)
		if c.Result == nil || c.Result.Holds != "result" || c.Result.Bytes == 0 || c.Result.Encrypted || strings.Contains(string(r.text), "secret") {
			t.Errorf("the claim is %s, want a description of its result without the content", r.text)
		}
	})
	t.Run("an operator resolves a claim", func(t *testing.T) {
		w := open(t)
		g := w.orders()
		for outcome, body := range map[string]map[string]any{
			"done: by hand": {"outcome": "done", "result": "by hand"},
			"done":          {"outcome": "done"},
			"failed: empty": {"outcome": "failed", "error": "empty"},
			"failed: x":     {"outcome": "failed"},
			"free: ran":     {"outcome": "free"},
		} {
			body["reason"] = "x"
			name, want, _ := strings.Cut(outcome, ": ")
			id := abandonClaim(t, g, outcome)
			var c admin.ClaimDetail
			w.post(pathOf("claims", id)+"/resolve", body).into(&c)
			if state := map[string]string{"done": "done", "failed": "failed", "free": "absent"}[name]; c.State != state {
				t.Errorf("%s: the state is %s, want %s", outcome, c.State, state)
			}
			got, err := result(t, g, outcome)
			var failed *guard.FailedError
			switch {
			case name == "failed" && (!errors.As(err, &failed) || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: a caller gets %q, %v; want a FailedError with %q", outcome, got, err, want)
			case outcome == "done" && !errors.Is(err, guard.ErrNoResult):
				t.Errorf("%s: a caller gets %q, %v; want ErrNoResult", outcome, got, err)
			case name != "failed" && outcome != "done" && (err != nil || got != want):
				t.Errorf("%s: a caller gets %q, %v; want %q", outcome, got, err, want)
			}
		}
	})
	t.Run("an operator sets the response of a request to the middleware", func(t *testing.T) {
		w := open(t)
		m, err := interlockhttp.Once(w.client, guard.Policy{Name: "pay", Scope: guard.Global, OnUnknown: guard.Hold})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close(t.Context())
		h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the bank closed the connection") }))
		pay := func() (resp *httptest.ResponseRecorder) {
			defer func() { _ = recover() }()
			r := httptest.NewRequest(http.MethodPost, "/pay", strings.NewReader("{}"))
			r.Header.Set("Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324")
			resp = httptest.NewRecorder()
			h.ServeHTTP(resp, r)
			return resp
		}
		pay()
		var list admin.Claims
		if w.get("/api/v1/claims?guard=pay&state=unknown").into(&list); len(list.Claims) != 1 {
			t.Fatalf("the claims with an unknown outcome are %+v, want one", list)
		}
		w.post(pathOf("claims", list.Claims[0].ID)+"/resolve", map[string]any{
			"outcome": "done", "reason": "paid, says the bank",
			"response": map[string]any{"status": 201, "content_type": "application/json", "body": `{"paid":true}`},
		}).into(&admin.ClaimDetail{})
		time.Sleep(guard.DefaultLocalCache)
		resp := pay()
		if resp.Code != 201 || resp.Body.String() != `{"paid":true}` || resp.Header().Get("Content-Type") != "application/json" ||
			resp.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("the client gets %d %v %s, want a replay of the 201 that the operator set", resp.Code, resp.Header(), resp.Body)
		}
	})
	t.Run("after its record is deleted, work runs again", func(t *testing.T) {
		w := open(t)
		g := w.orders()
		id := abandonClaim(t, g, "a")
		var before admin.ClaimDetail
		if w.post(pathOf("claims", id)+"/expire", reasonBody).into(&before); before.State != "unknown" {
			t.Errorf("the deleted record is %+v, want an unknown outcome", before)
		}
		w.get(pathOf("claims", id)).problem(404, admin.NotFound)
		if got, err := result(t, g, "a"); got != "ran" || err != nil {
			t.Errorf("the next call gets %q, %v; want it to run", got, err)
		}
	})
	t.Run("impossible requests are problems", func(t *testing.T) {
		w := open(t)
		g := w.orders()
		_, c, err := g.Begin(t.Context(), guard.ID("running"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Abandon()
		s, _ := g.Lookup(t.Context(), guard.ID("running"))
		w.post(pathOf("claims", s.Key)+"/expire", reasonBody).problem(409, admin.Conflict)
		w.post(pathOf("claims", s.Key)+"/resolve", map[string]any{"outcome": "done", "reason": "x"}).problem(409, admin.Conflict)
		w.get(pathOf("claims", "order:missing")).problem(404, admin.NotFound)
		w.post(pathOf("claims", "order:missing")+"/expire", reasonBody).problem(404, admin.NotFound)
		w.post(pathOf("claims", "order:missing")+"/resolve", map[string]any{"outcome": "done", "reason": "x"}).problem(404, admin.NotFound)
		id := abandonClaim(t, g, "a")
		for _, body := range []map[string]any{
			{"outcome": "done"}, {"outcome": "lost", "reason": "x"}, {"reason": "x"}, {"outcome": "free", "result": 1, "reason": "x"},
			{"outcome": "done", "error": "x", "reason": "x"}, {"outcome": "done", "result": 1, "response": map[string]any{"status": 200}, "reason": "x"},
			{"outcome": "done", "response": map[string]any{"status": 9999}, "reason": "x"},
			{"outcome": "done", "response": map[string]any{"status": 200, "content_type": "a\r\nb: c"}, "reason": "x"},
		} {
			w.post(pathOf("claims", id)+"/resolve", body).problem(422, admin.Invalid)
		}
		w.get("/api/v1/claims?state=odd").problem(422, admin.Invalid)
	})
	t.Run("an engine without records answers not_supported", func(t *testing.T) {
		w := open(t, func(o *admin.Options) { o.Engine = lockOnly{o.Engine} })
		w.get("/api/v1/claims").problem(409, admin.NotSupported)
		w.get(pathOf("claims", "x")).problem(409, admin.NotSupported)
		w.post(pathOf("claims", "x")+"/expire", reasonBody).problem(409, admin.NotSupported)
		w.get("/api/v1/locks").problem(409, admin.NotSupported)
	})
	t.Run("used tokens are the records of rules with forms", func(t *testing.T) {
		w := open(t, func(o *admin.Options) {
			o.Rules = func() *config.Config {
				return &config.Config{Rules: []config.Rule{{Form: "checkout", Policy: guard.Policy{Name: "order"}}, {Policy: guard.Policy{Name: "other"}}}}
			}
		})
		abandonClaim(t, w.orders(), "a")
		var list admin.Claims
		if w.get("/api/v1/tokens").into(&list); len(list.Claims) != 1 || list.Claims[0].Guard != "order" {
			t.Errorf("the tokens are %+v, want the record of the rule with a form", list)
		}
		if open(t).get("/api/v1/tokens").into(&list); len(list.Claims) != 0 {
			t.Errorf("without rules the tokens are %+v, want none", list)
		}
	})
}

// lockOnly is an engine that supports locks only.
type lockOnly struct{ engine.Engine }

func (lockOnly) Capabilities() engine.Capabilities { return engine.Capabilities{} }
