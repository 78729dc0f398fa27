package consume_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/internal/adapter/consume"
)

var policy = guard.Policy{Name: "orders", Scope: guard.Global}

type none = struct{}

func TestCheck(t *testing.T) {
	w := interlocktest.New(t)
	for name, c := range map[string]struct {
		policy guard.Policy
		want   string
	}{
		"a policy for messages is accepted":              {policy, ""},
		"a scope with a user is refused":                 {guard.Policy{Name: "a"}, "set Scope to guard.Global"},
		"a policy that keeps nothing is refused":         {guard.Policy{Name: "b", Scope: guard.Global, After: guard.Free}, "set After to guard.Keep"},
		"a policy that keeps only a window is refused":   {guard.Policy{Name: "c", Scope: guard.Global, After: guard.Window, Window: time.Second}, "set After to guard.Keep"},
		"a policy that runs unguarded is not our matter": {guard.Policy{Name: "d", Scope: guard.Global, OnDown: guard.Open}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := consume.Check(interlocktest.Guard[none](w, c.policy))
			if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(got, c.want)) {
				t.Errorf("Check returned %v, want %q", err, c.want)
			}
		})
	}
	refuse := guard.Policy{Name: "e", Scope: guard.Global, OnDuplicate: guard.Refuse}
	if err := consume.Check(interlocktest.Guard[string](w, refuse)); err == nil || !strings.Contains(err.Error(), "would lose the result") {
		t.Errorf("Check of a policy that refuses duplicates, with results: %v", err)
	}
	if err := consume.Check(interlocktest.Guard[none](w, refuse)); err != nil {
		t.Errorf("Check of a policy that refuses duplicates, without results: %v", err)
	}
	if err := consume.Check[none](nil); err == nil {
		t.Error("Check accepted a guard that is nil")
	}
}

func TestDo(t *testing.T) {
	ctx := context.Background()
	fails := errors.New("out of stock")
	returns := func(err error) func(context.Context) (none, error) {
		return func(context.Context) (none, error) { return none{}, err }
	}
	ok, fail := returns(nil), returns(fails)
	never := func(context.Context) (none, error) { panic("ran") }
	do := func(g *guard.Guard[none], payload string, work func(context.Context) (none, error)) consume.Outcome {
		_, out := consume.Do(ctx, g, "1", [][]byte{[]byte(payload)}, work)
		return out
	}
	with := func(change func(*guard.Policy)) guard.Policy {
		p := policy
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		policy guard.Policy
		before func(*testing.T, *interlocktest.World, *guard.Guard[none])
		work   func(context.Context) (none, error)
		want   consume.Action
		err    error
	}{
		"a new message is acked": {policy: policy, work: ok, want: consume.Ack},
		"a message that was done is acked": {policy: policy, work: never, want: consume.Ack,
			before: func(_ *testing.T, _ *interlocktest.World, g *guard.Guard[none]) { do(g, "a", ok) }},
		"a message that was done is acked if the policy refuses duplicates": {
			policy: with(func(p *guard.Policy) { p.OnDuplicate = guard.Refuse }), work: never, want: consume.Ack,
			before: func(_ *testing.T, _ *interlocktest.World, g *guard.Guard[none]) { do(g, "a", ok) }},
		"a message that runs elsewhere is nacked with delay": {policy: policy, work: never, want: consume.Nack, err: guard.ErrDuplicate,
			before: func(t *testing.T, w *interlocktest.World, _ *guard.Guard[none]) {
				_, claim, err := interlocktest.Guard[none](w, policy).Begin(ctx, guard.ID("1"))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = claim.Free() })
			}},
		"a handler's error is retried": {policy: policy, work: fail, want: consume.Retry, err: fails},
		"a handler's error frees the key": {policy: policy, work: ok, want: consume.Ack,
			before: func(_ *testing.T, _ *interlocktest.World, g *guard.Guard[none]) { do(g, "a", fail) }},
		"an error of an inner guard is the handler's": {policy: policy, want: consume.Retry, err: guard.ErrDuplicate,
			work: func(context.Context) (none, error) { return none{}, &guard.DuplicateError{} }},
		"a kept error parks the message": {policy: with(func(p *guard.Policy) { p.OnError = guard.Keep }), work: never, want: consume.Park, err: guard.ErrFailed,
			before: func(_ *testing.T, _ *interlocktest.World, g *guard.Guard[none]) { do(g, "a", fail) }},
		"an unknown outcome parks the message": {policy: policy, work: never, want: consume.Park, err: guard.ErrUnknown,
			before: func(_ *testing.T, _ *interlocktest.World, g *guard.Guard[none]) {
				do(g, "a", func(context.Context) (none, error) { return none{}, guard.OutcomeUnknown(fails) })
			}},
		"another payload parks the message": {policy: policy, work: never, want: consume.Park, err: guard.ErrMismatch,
			before: func(_ *testing.T, _ *interlocktest.World, g *guard.Guard[none]) { do(g, "b", ok) }},
		"nothing runs while the engine is down": {policy: policy, work: never, want: consume.Nack, err: guard.ErrDown,
			before: func(_ *testing.T, w *interlocktest.World, _ *guard.Guard[none]) { w.Fail() }},
		"nothing runs after the guard was closed": {policy: policy, work: never, want: consume.Nack, err: guard.ErrClosed,
			before: func(_ *testing.T, _ *interlocktest.World, g *guard.Guard[none]) { _ = g.Close(ctx) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := interlocktest.New(t)
				g := interlocktest.Guard[none](w, c.policy)
				if c.before != nil {
					c.before(t, w, g)
				}
				out := do(g, "a", c.work)
				if out.Action != c.want || !errors.Is(out.Err, c.err) {
					t.Errorf("the outcome is %+v, want action %v and error %v", out, c.want, c.err)
				}
				if delayed := out.Delay > 0; delayed != (c.want == consume.Nack) {
					t.Errorf("the delay is %v", out.Delay)
				}
			})
		})
	}
}

func TestIDs(t *testing.T) {
	g := interlocktest.Guard[none](interlocktest.New(t), policy)
	run := func(id string) (ran bool, out consume.Outcome) {
		_, out = consume.Do(t.Context(), g, id, nil, func(context.Context) (none, error) { ran = true; return none{}, nil })
		return ran, out
	}
	if ran, out := run(""); ran || out.Action != consume.Park || !errors.Is(out.Err, consume.ErrNoID) {
		t.Errorf("a message without an ID: ran is %v, outcome %+v", ran, out)
	}
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		id  string
		ran bool
	}{{long + "1", true}, {long + "2", true}, {long + "1", false}} {
		if ran, out := run(c.id); ran != c.ran || out.Action != consume.Ack {
			t.Errorf("a long ID that ends in %s: ran is %v, outcome %+v", c.id[5000:], ran, out)
		}
	}
}

// A guard with results cannot ack a message whose result is gone; one without can.
func TestAResultThatIsGone(t *testing.T) {
	w := interlocktest.New(t)
	records, err := guard.NewRecords(w.Client())
	if err != nil {
		t.Fatal(err)
	}
	resolve := func(name string) {
		t.Helper()
		key, err := guard.StoredKey(name, guard.Global, guard.ID("1"))
		if err == nil {
			err = records.Resolve(t.Context(), key, engine.Done, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := again[string](t, w, "with", resolve); got != consume.Park {
		t.Errorf("with a result, the message gets action %v, want Park", got)
	}
	if got := again[none](t, w, "without", resolve); got != consume.Ack {
		t.Errorf("without a result, the message gets action %v, want Ack", got)
	}
}

// again delivers a message whose outcome is unknown, and again after it was resolved.
func again[T any](t *testing.T, w *interlocktest.World, name string, resolve func(name string)) consume.Action {
	t.Helper()
	deliver := func(err error) consume.Action {
		g := interlocktest.Guard[T](w, guard.Policy{Name: name, Scope: guard.Global}) // as in another process, without cached answers
		_, out := consume.Do(t.Context(), g, "1", nil, func(context.Context) (v T, _ error) { return v, err })
		return out.Action
	}
	if got := deliver(guard.OutcomeUnknown(errors.New("no reply"))); got != consume.Retry {
		t.Fatalf("the first delivery gets action %v, want Retry", got)
	}
	resolve(name)
	return deliver(nil)
}

func TestAResolverThatFailsIsAskedAgain(t *testing.T) {
	p := policy
	p.OnUnknown = guard.Resolve
	down := true
	g := interlocktest.Guard[none](interlocktest.New(t), p, guard.Resolver(func(context.Context, guard.Key) (none, bool, error) {
		if down {
			return none{}, false, errors.New("the database is down")
		}
		return none{}, true, nil
	}))
	ask := func() consume.Outcome {
		_, out := consume.Do(t.Context(), g, "1", nil, func(context.Context) (none, error) {
			return none{}, guard.OutcomeUnknown(errors.New("no reply"))
		})
		return out
	}
	ask()
	if out := ask(); out.Action != consume.Nack {
		t.Errorf("while the resolver fails: %+v", out)
	}
	down = false
	if out := ask(); out.Action != consume.Ack {
		t.Errorf("after the resolver found the work: %+v", out)
	}
}

func TestRecoveredLeavesTheOutcomeUnknown(t *testing.T) {
	var logged strings.Builder
	_, err := consume.Recovered(slog.New(slog.NewTextHandler(&logged, nil)), func(context.Context) error { panic("nil map") })(t.Context())
	if guard.Classify(err) != guard.ClassUnknown || !strings.Contains(err.Error(), "nil map") {
		t.Errorf("a panic became %v", err)
	}
	if !strings.Contains(logged.String(), "consume_test.go") {
		t.Errorf("the log has no stack: %s", logged.String())
	}
}

func TestBackoff(t *testing.T) {
	for n, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1 << 30: time.Minute} {
		if got := consume.Backoff(n); got != want {
			t.Errorf("Backoff(%d) = %v, want %v", n, got, want)
		}
	}
}
