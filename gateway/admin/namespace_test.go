package admin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// The API shows and changes the locks and records of the gateway's namespace, and of no
// other.
func TestNamespace(t *testing.T) {
	cfg := &config.Config{Namespace: "shop"}
	w := open(t, func(o *admin.Options) { o.Rules = func() *config.Config { return cfg } })
	shop, bank := w.client.With(interlock.Prefix("shop:")), w.client.With(interlock.Prefix("bank:"))
	stream := w.listen("")
	w.lock(shop.Mutex("pay:7"))
	if what := stream.wantNext("lock.acquired").Data.(map[string]any); what["key"] != "pay:7" {
		t.Errorf("the event is %v, want the key pay:7 without the namespace", what)
	}
	otherHold := w.lock(bank.Mutex("pay:8"))
	unknown := func(client *interlock.Client) guard.Status {
		g, err := guard.New[string](client, guard.Policy{Name: "order", OnUnknown: guard.Hold})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = g.Close(context.Background()) })
		if _, c, err := g.Begin(t.Context(), guard.Of("ann", "tok-1")); err != nil || c.Abandon() != nil {
			t.Fatal(err)
		}
		s, err := g.Lookup(t.Context(), guard.Of("ann", "tok-1"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	unknown(shop)
	foreign := unknown(bank)

	t.Run("lists contain the keys of the namespace, without its prefix", func(t *testing.T) {
		var locks admin.Locks
		w.get("/api/v1/locks?pattern=pay:*").into(&locks)
		if len(locks.Locks) != 1 || locks.Locks[0].Key != "pay:7" {
			t.Errorf("the locks are %+v, want pay:7 only", locks)
		}
		var claims admin.Claims
		w.get("/api/v1/claims?guard=order&state=unknown").into(&claims)
		if len(claims.Claims) != 1 || claims.Claims[0].Guard != "order" {
			t.Fatalf("the records are %+v, want one of the guard order", claims)
		}
		var claim admin.ClaimDetail
		w.get(pathOf("claims", claims.Claims[0].ID)).into(&claim)
	})
	t.Run("a lock of another namespace is neither shown nor released", func(t *testing.T) {
		for _, key := range []string{"pay:8", "bank:pay:8"} {
			var lock admin.LockDetail
			w.get(pathOf("locks", key)).into(&lock)
			if len(lock.Holders) != 0 {
				t.Errorf("the lock %s is shown as %+v, want no holders", key, lock)
			}
			w.post(pathOf("locks", key)+"/release", reasonBody)
		}
		w.post("/api/v1/locks/release-all", map[string]any{"pattern": "*", "confirm": 2, "reason": "all"}).problem(409, admin.Conflict)
		w.post("/api/v1/locks/release-all", map[string]any{"pattern": "*pay:8", "confirm": 0, "reason": "all"})
		if info, err := bank.Inspect(t.Context(), "pay:8"); err != nil || len(info.Holders) != 1 || info.Holders[0].Fence != otherHold.Fence() {
			t.Errorf("the lock of another namespace is %+v, %v", info, err)
		}
	})
	t.Run("a record of another namespace is neither shown nor changed", func(t *testing.T) {
		w.get(pathOf("claims", foreign.Key)).problem(404, admin.NotFound)
		w.post(pathOf("claims", foreign.Key)+"/expire", reasonBody).problem(404, admin.NotFound)
		w.post(pathOf("claims", foreign.Key)+"/resolve", map[string]any{"outcome": "free", "reason": "x"}).problem(404, admin.NotFound)
	})
	t.Run("an operator finds a record by rule, user and key", func(t *testing.T) {
		var found admin.Claims
		w.get("/api/v1/claims?guard=order&user=ann&key=tok-1").into(&found)
		if len(found.Claims) != 1 || found.Claims[0].State != "unknown" {
			t.Fatalf("the query finds %+v, want the record with an unknown outcome", found)
		}
		for _, query := range []string{"guard=order&user=bob&key=tok-1", "guard=order&user=ann&key=tok-2", "guard=other&user=ann&key=tok-1", "guard=order&key=tok-1"} {
			var empty admin.Claims
			if w.get("/api/v1/claims?" + query).into(&empty); len(empty.Claims) != 0 {
				t.Errorf("the query %s finds %+v, want nothing", query, empty)
			}
		}
		w.get("/api/v1/claims?user=ann&key=tok-1").problem(422, admin.Invalid)
		w.get("/api/v1/claims?guard=order&user=ann").problem(422, admin.Invalid)
		var after admin.ClaimDetail
		w.post(pathOf("claims", found.Claims[0].ID)+"/resolve", map[string]any{"outcome": "free", "reason": "x"}).into(&after)
	})
	t.Run("the API follows a reload to another namespace", func(t *testing.T) {
		cfg = &config.Config{Namespace: "bank"}
		var lock admin.LockDetail
		w.get(pathOf("locks", "pay:8")).into(&lock)
		if len(lock.Holders) != 1 {
			t.Errorf("the lock is %+v, want the holder in the namespace bank", lock)
		}
	})
}

// Records are found in each scope that a rule can have.
func TestARecordIsFoundInEachScope(t *testing.T) {
	w := open(t)
	for scope, query := range map[guard.Scope]string{
		guard.Global: "", guard.PerUser: "&user=ann", guard.PerRoute: "&user=ann&route=" + url.QueryEscape("POST /orders"),
	} {
		g, err := guard.New[string](w.client, guard.Policy{Name: "order", Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Do(t.Context(), guard.Key{User: "ann", Route: "POST /orders", ID: "k-" + string(scope)}, func(context.Context) (string, error) { return "", nil }); err != nil {
			t.Fatal(err)
		}
		var found admin.Claims
		w.get("/api/v1/claims?guard=order&key=" + url.QueryEscape("k-"+string(scope)) + query).into(&found)
		if len(found.Claims) != 1 || found.Claims[0].State != "done" {
			t.Errorf("scope %s: the query finds %+v, want one record that is done", scope, found)
		}
	}
}

// The middleware names the route of a record after the pattern of its handler.
func TestARecordOfTheMiddlewareIsFoundByItsRoute(t *testing.T) {
	w := open(t)
	once, err := interlockhttp.Once(w.client, guard.Policy{Name: "order", Scope: guard.PerRoute}, interlockhttp.User(func(*http.Request) string { return "ann" }))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders/{id}", once.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	r := httptest.NewRequest(http.MethodPost, "/orders/7", nil)
	r.Header.Set("Idempotency-Key", "k-1")
	mux.ServeHTTP(httptest.NewRecorder(), r)
	for _, route := range []string{"POST /orders/{id}", "POST /orders/{order}"} {
		var found admin.Claims
		w.get("/api/v1/claims?guard=order&key=k-1&user=ann&route=" + url.QueryEscape(route)).into(&found)
		if len(found.Claims) != 1 || found.Claims[0].State != "done" {
			t.Errorf("route %s: the query finds %+v, want one record that is done", route, found)
		}
	}
}

// Lists show how long a lock has been held, through all renewals.
func TestHowLongALockIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openWithoutServer(t)
		hold := w.lock(w.client.Mutex("a:1"))
		time.Sleep(time.Hour)
		list := serveGet[admin.Locks](t, w.api, "/api/v1/locks")
		if len(list.Locks) != 1 || list.Locks[0].Holders[0].HeldMS != time.Hour.Milliseconds() {
			t.Errorf("after an hour, the locks are %+v, want one that is held for an hour", list)
		}
		_ = hold.Unlock()
		_ = w.client.Close(t.Context())
	})
}
