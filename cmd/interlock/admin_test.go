package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	lock "github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/standby"
	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// An operator calls the admin API.
type operator struct {
	t      *testing.T
	server *httptest.Server
}

// call sends a request, expects a status, and decodes the response.
func (o operator) call(method, path string, body map[string]any, status int, into any) {
	o.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		o.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(o.t.Context(), method, o.server.URL+"/api/v1"+path, bytes.NewReader(text))
	if err != nil {
		o.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		o.t.Fatalf("%s %s: got %d %s (%v), want %d", method, path, resp.StatusCode, answer, err, status)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			o.t.Fatal(err)
		}
	}
}

// operate serves the admin API of an engine, and returns an operator that calls it.
func operate(t *testing.T, e engine.Engine) operator {
	t.Helper()
	client := lock.New(e)
	api, err := admin.New(admin.Options{Client: client, Engine: e, Config: &config.Admin{Listen: "127.0.0.1:7070", Open: true}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api)
	t.Cleanup(func() {
		_ = api.Close()
		server.Close()
		_ = client.Close(context.Background())
	})
	return operator{t, server}
}

// dial opens an engine on a server.
func dial(t *testing.T, s *redistest.Server) *redisengine.Engine {
	t.Helper()
	e, err := redisengine.Open(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// Requirement T13 on a real server: an operator lists and force-releases the locks of another
// process.
func TestAdminOnRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ops := operate(t, dial(t, server))
	shop := lock.New(dial(t, server), lock.Name("shop"))
	defer shop.Close(context.Background())

	key := "order/№:42 %2F"
	ctx, hold, err := shop.Mutex(key).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list admin.Locks
	ops.call("GET", "/locks?pattern=order*", nil, 200, &list)
	if len(list.Locks) != 1 || list.Locks[0].Key != key || list.Locks[0].Holders[0].Client.Name != "shop" || list.Locks[0].Holders[0].Fence != hold.Fence() {
		t.Fatalf("listed %+v, want the lock %q of shop with fence %d", list, key, hold.Fence())
	}
	var before admin.LockDetail
	ops.call("POST", "/locks/"+url.PathEscape(key)+"/release", map[string]any{"reason": "leaked"}, 200, &before)
	<-ctx.Done() // the force-release cancels the holder's context
	if len(before.Holders) != 1 || before.Holders[0].Fence != hold.Fence() {
		t.Errorf("the response shows the lock as %+v, want one holder with fence %d", before, hold.Fence())
	}
	claimsOnRedis(t, ops, shop)
	ops.call("GET", "/health", nil, 200, nil)
	ops.call("POST", "/standby/degrade", map[string]any{"reason": "x"}, 409, nil)
	server.Kill()
	ops.call("GET", "/locks", nil, 503, nil)
	ops.call("POST", "/locks/x/release", map[string]any{"reason": "x"}, 503, nil)
}

// claimsOnRedis resolves one unknown outcome and deletes the record of another.
func claimsOnRedis(t *testing.T, ops operator, shop *lock.Client) {
	t.Helper()
	g, err := guard.New[string](shop, guard.Policy{Name: "pay", Scope: guard.Global, OnUnknown: guard.Hold})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(context.Background())
	for _, id := range []string{"a", "b"} {
		if _, c, err := g.Begin(t.Context(), guard.ID(id)); err != nil || c.Abandon() != nil {
			t.Fatal(err)
		}
	}
	var list admin.Claims
	ops.call("GET", "/claims?guard=pay&state=unknown", nil, 200, &list)
	if len(list.Claims) != 2 {
		t.Fatalf("listed %+v, want 2 claims", list)
	}
	a, err := g.Lookup(t.Context(), guard.ID("a"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.Lookup(t.Context(), guard.ID("b"))
	if err != nil {
		t.Fatal(err)
	}
	ops.call("POST", "/claims/"+url.PathEscape(a.Key)+"/resolve", map[string]any{"outcome": "done", "result": "by hand", "reason": "x"}, 200, nil)
	ops.call("POST", "/claims/"+url.PathEscape(a.Key)+"/resolve", map[string]any{"outcome": "free", "reason": "x"}, 409, nil)
	ops.call("POST", "/claims/"+url.PathEscape(b.Key)+"/expire", map[string]any{"reason": "x"}, 200, nil)
	time.Sleep(guard.DefaultLocalCache) // until then the guard answers from its local cache
	for id, want := range map[string]string{"a": "by hand", "b": "ran"} {
		if got, err := g.Do(t.Context(), guard.ID(id), func(context.Context) (string, error) { return "ran", nil }); got != want || err != nil {
			t.Errorf("%s: a caller gets %q, %v; want %q", id, got, err, want)
		}
	}
}

// Requirement T13 on real servers: the admin API switches to the standby.
func TestAdminSwitchesOnRedis(t *testing.T) {
	t.Parallel()
	primary, secondary := redistest.Start(t), redistest.Start(t)
	pair := func() *standby.Engine {
		e, err := standby.New(t.Context(), dial(t, primary), dial(t, secondary), standby.LongestLease(time.Second), standby.MaxRecordAge(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		return e
	}
	ops, otherPair := operate(t, pair()), pair()
	shop := lock.New(otherPair, lock.Watchdog(time.Second))
	defer shop.Close(context.Background())
	if err := shop.Mutex("a:1").Do(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	var s admin.Switch
	ops.call("POST", "/standby/switch", map[string]any{"to": "standby", "reason": "maintenance"}, 200, &s)
	if s.Side != "standby" || len(s.Reached) != 2 || s.FreezeMS <= 0 {
		t.Errorf("the switch is %+v, want side \"standby\", the switch stored on 2 sides, and freeze_ms > 0", s)
	}
	primary.Kill() // the standby needs no primary
	err := shop.Mutex("a:1", lock.Wait(2*time.Minute)).Do(t.Context(), func(context.Context) error {
		var list admin.Locks
		ops.call("GET", "/locks", nil, 200, &list)
		if len(list.Locks) != 1 {
			t.Errorf("listed %+v, want 1 lock", list)
		}
		return nil
	})
	if err != nil {
		t.Errorf("another process on the standby: %v", err)
	}
	ops.call("GET", "/standby", nil, 200, &s)
	if s.Side != "standby" || s.By != "local" {
		t.Errorf("the switch is %+v, want side \"standby\", switched by \"local\"", s)
	}
}
