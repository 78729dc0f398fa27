package guard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
)

func tokens(t *testing.T, secret string, older ...string) *guard.Tokens {
	t.Helper()
	var rest [][]byte
	for _, o := range older {
		rest = append(rest, []byte(strings.Repeat(o, 16)))
	}
	ts, err := guard.NewTokens(10*time.Minute, []byte(strings.Repeat(secret, 16)), rest...)
	ok(t, err)
	return ts
}

// redeem redeems a token of Ann's.
func redeem(t *testing.T, ts *guard.Tokens, token, form string) guard.Key {
	t.Helper()
	k, err := ts.Redeem(token, "ann", form)
	ok(t, err)
	return k
}

var tokenLaws = []law{
	{"a token is spent once, and then replays its result (P1, P6)", func(t *testing.T, w *world) {
		ts, g, j := tokens(t, "s"), process[string](t, w, order), work("a", time.Second)
		token := ts.Issue("ann", "checkout")
		wait := startCall(t, g, redeem(t, ts, token, "checkout"), j)
		refused(t, g, redeem(t, ts, token, "checkout"), j)
		_, err := wait()
		ok(t, err)
		do(t, process[string](t, w, order), redeem(t, ts, token, "checkout"), j, "a")
		do(t, g, redeem(t, ts, ts.Issue("ann", "checkout"), "checkout"), j, "a")
		j.want(t, 2)
	}},
	{"a token whose work failed can be used again (P6)", func(t *testing.T, w *world) {
		ts, g := tokens(t, "s"), process[string](t, w, order)
		k := redeem(t, ts, ts.Issue("ann", "checkout"), "checkout")
		fails(t, g, k, &job{err: errNo}, errNo)
		do(t, g, k, work("a", 0), "a")
	}},
	{"a token stays spent while it is valid, even if results are kept for less", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", Retain: time.Second}
		ts, g, j := tokens(t, "s"), process[string](t, w, p), work("a", 0)
		token := ts.Issue("ann", "checkout")
		do(t, g, redeem(t, ts, token, "checkout"), j, "a")
		time.Sleep(10*time.Minute - time.Millisecond)
		do(t, g, redeem(t, ts, token, "checkout"), j, "a")
		j.want(t, 1)
	}},
	{"an expired token finds its result, and starts no work", func(t *testing.T, w *world) {
		ts, g, j := tokens(t, "s"), process[string](t, w, order), work("a", 0)
		spent, unspent := ts.Issue("ann", "checkout"), ts.Issue("ann", "checkout")
		time.Sleep(ts.Life() - time.Second)
		do(t, g, redeem(t, ts, spent, "checkout").For([]byte("x")), j, "a")
		time.Sleep(2 * time.Second)
		do(t, g, redeem(t, ts, spent, "checkout"), j, "a")
		fails(t, g, redeem(t, ts, spent, "checkout").For([]byte("y")), j, guard.ErrMismatch)
		fails(t, g, redeem(t, ts, unspent, "checkout"), j, guard.ErrTokenExpired)
		if n := g.Stats().Coalesced; n != 0 {
			t.Errorf("Coalesced = %d, want 0: all calls asked the engine", n)
		}
		failEngine(w)
		fails(t, remote[string](t, w, order), redeem(t, ts, spent, "checkout"), j, guard.ErrDown)
		w.engine.Heal()
		time.Sleep(guard.DefaultRetain)
		fails(t, g, redeem(t, ts, spent, "checkout"), j, guard.ErrTokenExpired)
		j.want(t, 1)
	}},
	{"foreign, forged, changed and expired tokens get different errors", func(t *testing.T, w *world) {
		ts := tokens(t, "s")
		token := ts.Issue("ann", "checkout")
		for name, c := range map[string]struct {
			token, user, form string
			want              error
		}{
			"another user": {token, "bob", "checkout", guard.ErrTokenForeign},
			"another form": {token, "ann", "refund", guard.ErrTokenForeign},
			"shifted":      {token, "annc", "heckout", guard.ErrTokenForeign},
			"made up":      {"made-up", "ann", "checkout", guard.ErrTokenUnknown},
			"empty":        {"", "ann", "checkout", guard.ErrTokenUnknown},
			"changed":      {flip(token), "ann", "checkout", guard.ErrTokenUnknown},
			"longer":       {token + "AAAA", "ann", "checkout", guard.ErrTokenUnknown},
			"foreign":      {tokens(t, "x").Issue("ann", "checkout"), "ann", "checkout", guard.ErrTokenUnknown},
			"redis key":    {"interlock:guard:lock:*", "ann", "checkout", guard.ErrTokenUnknown},
		} {
			if _, err := ts.Redeem(c.token, c.user, c.form); err != c.want { //nolint:errorlint // exactly this one
				t.Errorf("%s: Redeem = %v, want %v", name, err, c.want)
			}
		}
		time.Sleep(ts.Life())
		fails(t, process[string](t, w, order), redeem(t, ts, token, "checkout"), work("a", 0), guard.ErrTokenExpired)
		_, err := ts.Redeem(token, "bob", "checkout")
		wantErr(t, err, guard.ErrTokenForeign)
	}},
	{"a token stays spent when an operator resolves its hashed key", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Hold, Retain: time.Minute}
		ts, g, j := tokens(t, "s"), process[string](t, w, p), work("a", 0)
		token := ts.Issue("ann", "checkout")
		_, _ = g.Do(t.Context(), redeem(t, ts, token, "checkout"), unknownWork["marked"])
		for s, err := range g.List(t.Context()) {
			ok(t, err)
			ok(t, g.Resolve(t.Context(), guard.Hashed(s.Key), "by hand"))
		}
		time.Sleep(9 * time.Minute)
		do(t, g, redeem(t, ts, token, "checkout"), j, "by hand")
		j.want(t, 0)
	}},
	{"the resolver is called for an expired token with an unknown outcome", func(t *testing.T, w *world) {
		for _, happened := range []bool{true, false} {
			p := guard.Policy{Name: fmt.Sprint("order-", happened), OnUnknown: guard.Resolve}
			g := process[string](t, w, p, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", happened, nil }))
			ts, j := tokens(t, "s"), work("a", 0)
			token := ts.Issue("ann", "checkout")
			_, _ = g.Do(t.Context(), redeem(t, ts, token, "checkout"), unknownWork["marked"])
			time.Sleep(ts.Life())
			if happened {
				do(t, g, redeem(t, ts, token, "checkout"), j, "found")
			} else {
				fails(t, g, redeem(t, ts, token, "checkout"), j, guard.ErrTokenExpired)
				fails(t, g, redeem(t, ts, token, "checkout"), j, guard.ErrTokenExpired)
			}
			j.want(t, 0)
		}
	}},
	{"an expired token finds a result from an outage", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDown: guard.Local}
		ts, g, j := tokens(t, "s"), process[string](t, w, p), work("a", 0)
		token := ts.Issue("ann", "checkout")
		time.Sleep(ts.Life() - 5*time.Second)
		failEngine(w)
		do(t, g, redeem(t, ts, token, "checkout"), j, "a")
		w.engine.Heal()
		time.Sleep(10 * time.Second)
		do(t, g, redeem(t, ts, token, "checkout"), j, "a")
		j.want(t, 1)
	}},
	{"an expired token finds an earlier result during an outage", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDown: guard.Local}
		ts, g, j := tokens(t, "s"), process[string](t, w, p), work("a", 0)
		token := ts.Issue("ann", "checkout")
		time.Sleep(ts.Life() - 5*time.Second)
		do(t, g, redeem(t, ts, token, "checkout"), j, "a")
		failEngine(w)
		time.Sleep(10 * time.Second)
		do(t, g, redeem(t, ts, token, "checkout"), j, "a")
		j.want(t, 1)
	}},
	{"an expired token starts no work if its unknown outcome is forgotten meanwhile", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		find := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", true, nil })
		ts, g, j := tokens(t, "s"), process[string](t, w, p, find), work("a", 0)
		otherProcess := on[string](t, w, w.memory, p, find)
		token := ts.Issue("ann", "checkout")
		_, _ = g.Do(t.Context(), redeem(t, ts, token, "checkout"), unknownWork["marked"])
		time.Sleep(ts.Life())
		expired := redeem(t, ts, token, "checkout")
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Delay, After: time.Second, Times: 1})
		wait := startCall(t, g, expired, j)
		ok(t, otherProcess.Forget(t.Context(), expired))
		_, err := wait()
		wantErr(t, err, guard.ErrTokenExpired)
		j.want(t, 0)
	}},
	{"a slow lookup of an expired token does not shorten the retries that follow", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		g := process[string](t, w, p, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", true, nil }))
		ts, j := tokens(t, "s"), work("a", 0)
		token := ts.Issue("ann", "checkout")
		_, _ = g.Do(t.Context(), redeem(t, ts, token, "checkout"), unknownWork["marked"])
		time.Sleep(ts.Life())
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpLookup, Do: enginetest.Delay, After: 2 * time.Second, Times: 1})
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Refuse, Times: 1})
		do(t, g, redeem(t, ts, token, "checkout"), j, "found")
		j.want(t, 0)
	}},
	{"a new first secret replaces the old one", func(t *testing.T, w *world) {
		token := tokens(t, "old").Issue("ann", "checkout")
		redeem(t, tokens(t, "new", "old"), token, "checkout")
		_, err := tokens(t, "new").Redeem(token, "ann", "checkout")
		wantErr(t, err, guard.ErrTokenUnknown)
		redeem(t, tokens(t, "new"), tokens(t, "new", "old").Issue("ann", "checkout"), "checkout")
	}},
	{"a policy that keeps no results accepts no tokens", func(t *testing.T, w *world) {
		ts, j := tokens(t, "s"), work("a", 0)
		k := redeem(t, ts, ts.Issue("ann", "f"), "f")
		fails(t, process[string](t, w, guard.Form("form")), k, j, guard.ErrPolicy)
		j.want(t, 0)
	}},
}

// flip changes one character in the middle of a token.
func flip(token string) string {
	b := []byte(token)
	if b[20]++; b[20] == 'Z'+1 || b[20] == 'z'+1 || b[20] == '9'+1 || b[20] == '_'+1 || b[20] == '-'+1 {
		b[20] = 'A'
	}
	return string(b)
}
