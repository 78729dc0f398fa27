package torture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
)

// TestScenarios runs the scenarios of the requirements on a real Redis. It has two
// guards: f.guard, and f.other, which acts as another process.
func TestScenarios(t *testing.T) {
	for _, c := range []struct {
		name  string
		prove func(t *testing.T)
	}{
		{"L5 a handler of 1 s and a lease of 10 s: the next submission is accepted after 1 s", fastCase},
		{"L6 a handler of 3 s and a lease of 5 s: duplicates are refused for 3 s, then accepted", slowCase},
		{"L7 a handler of 3 s and a lease of 2 s: duplicates are refused during the whole handler", timeoutCase},
		{"L7 a late release does not end the next claim", lateRelease},
		{"S1 S2 a check is one round trip and returns the milliseconds left", oneTrip},
		{"S5 P7 while Redis is down, work with an open policy runs and is counted", openPolicyRuns},
		{"S9 repeats are refused for as long as the preset says, from the start", windows},
		{"P2 three scopes: user and key, key alone, user and route and key", scopes},
		{"P3 the server has the lease of each preset, and no lock when the work is done", leases},
		{"P5 entries have the configured prefix, each with its own expiry", prefixed},
		{"P6 success spends a token, failure frees it, and running work refuses it", tokenLife},
		{"P10 an order submitted twice is one order", orderOnce},
		{"P10 a payment clicked five times is one payment", paymentOnce},
		{"P10 a batch import started by three users runs once", importOnce},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.prove(t)
		})
	}
}

// freePolicy releases the key as soon as the work is done.
func freePolicy(lease time.Duration) guard.Policy {
	return guard.Policy{Name: "submit", After: guard.Free, Lease: lease, OnUnknown: guard.Rerun}
}

// runHandler starts a handler that takes the given time, and returns when it has begun.
// The channel receives its error.
func (f *guardFixture) runHandler(g *guard.Guard[string], duration time.Duration) <-chan error {
	f.t.Helper()
	begun, done := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := g.Do(f.t.Context(), order, func(ctx context.Context) (string, error) {
			close(begun)
			time.Sleep(duration) // the handler's work
			return f.work(ctx)
		})
		done <- err
	}()
	select {
	case <-begun:
	case err := <-done:
		f.t.Fatalf("the handler did not run: %v", err)
	}
	return done
}

// wantRefusedUntil submits duplicates through both guards until the handler is done. All
// must be refused with the time left.
func (f *guardFixture) wantRefusedUntil(done <-chan error) (n int) {
	f.t.Helper()
	for {
		for _, g := range []*guard.Guard[string]{f.guard, f.other} {
			_, err := g.Do(f.t.Context(), order, func(context.Context) (string, error) {
				if f.runs.Load() == 0 {
					f.t.Error("a duplicate ran during the handler")
				}
				return "", nil
			})
			var duplicate *guard.DuplicateError
			switch {
			case f.runs.Load() > 0: // the handler finished meanwhile
			case !errors.As(err, &duplicate):
				f.t.Fatalf("a duplicate got %v, want a DuplicateError", err)
			case duplicate.RetryAfter <= 0 || duplicate.Status != 429:
				f.t.Errorf("a duplicate was refused with %v left and status %d, want a time above 0 and 429", duplicate.RetryAfter, duplicate.Status)
			default:
				n++
			}
		}
		select {
		case err := <-done:
			if err != nil {
				f.t.Fatalf("the handler returned %v", err)
			}
			return n
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// wantAccepted checks that the next submission runs. It waits so long, for slow machines,
// that an unreleased lease may expire meanwhile; fastCase limits the time.
func (f *guardFixture) wantAccepted() {
	f.t.Helper()
	runs := f.runs.Load()
	f.eventually(time.Second, "the next submission is accepted", func() bool {
		_, err := f.other.Do(f.t.Context(), order, f.work)
		return err == nil
	})
	f.wantRuns(runs + 1)
}

func fastCase(t *testing.T) {
	f := newGuardFixture(t, freePolicy(10*time.Second))
	start := time.Now()
	err := <-f.runHandler(f.guard, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	f.wantAccepted()
	if d := time.Since(start); d > 5*time.Second { // half of the lease
		t.Errorf("accepted after %v, want 1s", d)
	}
}

func slowCase(t *testing.T) {
	f := newGuardFixture(t, freePolicy(5*time.Second))
	if n := f.wantRefusedUntil(f.runHandler(f.guard, 3*time.Second)); n < 20 {
		t.Errorf("only %d duplicates were refused, want at least 20", n)
	}
	f.wantAccepted()
}

func timeoutCase(t *testing.T) {
	f := newGuardFixture(t, freePolicy(2*time.Second))
	start := time.Now()
	n := f.wantRefusedUntil(f.runHandler(f.guard, 3*time.Second))
	if d := time.Since(start); n < 20 || d < 3*time.Second {
		t.Errorf("%d duplicates were refused in %v, want at least 20 in 3s", n, d)
	}
	f.wantAccepted()
}

// lateRelease settles a claim that was lost after 2s and granted to another caller.
func lateRelease(t *testing.T) {
	policy := freePolicy(2 * time.Second)
	policy.MaxHold = 2 * time.Second
	f := newGuardFixture(t, policy)
	ctx, claim := f.begin(f.guard)
	f.wantLost(ctx, 2500*time.Millisecond, interlock.ErrMaxHold)
	f.eventually(3*time.Second, "another caller has the claim", func() bool {
		_, otherClaim, err := f.other.Begin(t.Context(), order)
		if err == nil {
			t.Cleanup(func() { _ = otherClaim.Abandon() })
		}
		return err == nil
	})
	now := f.lookup(f.other, order)
	f.wantErr(claim.Complete("late"), interlock.ErrLost)
	if after := f.lookup(f.other, order); after.State != engine.Running || after.Fence != now.Fence || after.Fence <= claim.Fence() {
		t.Errorf("the next claim changed from %+v to %+v, want no change and a fence above %d", now, after, claim.Fence())
	}
}

func oneTrip(t *testing.T) {
	f := newGuardFixture(t, guard.Policy{Name: "trip", After: guard.Window, Window: 10 * time.Second, OnUnknown: guard.Rerun})
	f.warmUp(f.guard)
	f.warmUp(newGuard(t, f.fixture.other, guard.Policy{Name: "other"}))
	before := f.commandCount("eval")
	_, claim := f.begin(f.guard)
	if n := f.commandCount("eval") - before; n != 1 {
		t.Errorf("a granted check ran %d scripts, want 1", n)
	}
	before = f.commandCount("eval")
	_, err := f.other.Do(t.Context(), order, f.work)
	if n := f.commandCount("eval") - before; n != 1 {
		t.Errorf("a refused check ran %d scripts, want 1", n)
	}
	var duplicate *guard.DuplicateError
	if !errors.As(err, &duplicate) || !duplicate.Running {
		t.Fatalf("got %v, want a running duplicate", err)
	}
	if left := duplicate.RetryAfter; left < 9*time.Second || left > 10*time.Second {
		t.Errorf("%v are left while the work runs, want almost 10s", left)
	}
	f.complete(claim)
	third := newGuard(t, f.fixture.other, f.policy)
	most := f.pttl("result", order)
	_, err = third.Do(t.Context(), order, f.work)
	least := f.pttl("result", order)
	if !errors.As(err, &duplicate) || duplicate.Running {
		t.Fatalf("Do: got %v, want a duplicate that is done", err)
	}
	const slack = 2 * time.Millisecond // both values are rounded
	if left := duplicate.RetryAfter; left > most+slack || left < least-slack {
		t.Errorf("RetryAfter is %v, want it between the server's PTTL before (%v) and after (%v) the call", left, most, least)
	}
}

// pttl returns the server's PTTL of a record's entry.
func (f *guardFixture) pttl(entry string, key guard.Key) time.Duration {
	f.t.Helper()
	ms, err := strconv.Atoi(f.server.Must("PTTL", "interlock:guard:"+entry+":{"+f.lookup(f.other, key).Key+"}"))
	if err != nil {
		f.t.Fatal(err)
	}
	return time.Duration(ms) * time.Millisecond
}

func (f *guardFixture) wantPTTL(entry string, key guard.Key, want time.Duration) {
	f.t.Helper()
	if got := f.pttl(entry, key); got > want || got < want-2*time.Second {
		f.t.Errorf("the %s entry is kept for %v, want %v", entry, got, want)
	}
}

func openPolicyRuns(t *testing.T) {
	f := newGuardFixture(t, guard.Form("form"))
	f.warmUp(f.guard)
	f.server.Kill()
	for i := range 5 {
		f.do(f.guard, guard.Of("ada", fmt.Sprint("form-", i)))
	}
	f.wantRuns(5)
	if s := f.guard.Stats(); s.Verdicts[guard.Unguarded] != 5 {
		t.Errorf("%d runs counted as unguarded, want 5", s.Verdicts[guard.Unguarded])
	}
}

func windows(t *testing.T) {
	f := newGuardFixture(t, guard.Click("click"))
	start := time.Now()
	if err := <-f.runHandler(f.guard, 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for f.runs.Load() == 1 {
		_, err := f.other.Do(t.Context(), order, f.work)
		if d := time.Since(start); err == nil && d < 990*time.Millisecond || err != nil && d > 3*time.Second {
			t.Fatalf("a click after %v returned %v, want a refusal for 1s and then a run", d, err)
		}
		time.Sleep(10 * time.Millisecond) // between two clicks
	}
	for _, policy := range []guard.Policy{guard.Form("form"), guard.Payment("payment"), guard.Export("export")} {
		f := &guardFixture{fixture: f.fixture}
		f.guard, f.other = newGuard(t, f.client, policy), newGuard(t, f.fixture.other, policy)
		f.do(f.guard, order)
		f.wantPTTL("result", order, map[string]time.Duration{"form": 5 * time.Second, "payment": 30 * time.Second, "export": 300 * time.Second}[policy.Name])
		_, err := f.other.Do(t.Context(), order, f.work)
		f.wantErr(err, guard.ErrDuplicate)
		f.wantRuns(1)
	}
}

func scopes(t *testing.T) {
	base := newFixture(t)
	first := guard.Key{User: "ada", Route: "orders", ID: "1"}
	for scope, same := range map[guard.Scope]map[guard.Key]bool{
		guard.PerUser:  {{User: "ada", Route: "returns", ID: "1"}: true, {User: "bob", Route: "orders", ID: "1"}: false, {User: "ada", Route: "orders", ID: "2"}: false},
		guard.Global:   {{User: "bob", Route: "returns", ID: "1"}: true, {ID: "1"}: true, {User: "ada", Route: "orders", ID: "2"}: false},
		guard.PerRoute: {first: true, {User: "ada", Route: "returns", ID: "1"}: false, {User: "bob", Route: "orders", ID: "1"}: false},
	} {
		policy := guard.Policy{Name: "scope", Scope: scope}
		policy.Retain, policy.OnUnknown = 5*time.Minute, guard.Rerun // as in the original specification
		f := &guardFixture{fixture: base}
		f.guard, f.other = newGuard(t, f.client, policy), newGuard(t, base.other, policy)
		result := f.do(f.guard, first)
		for key, want := range same {
			if got := f.do(f.other, key); (got == result) != want {
				t.Errorf("%s: %+v got %q after %+v got %q; want the same result: %v", scope, key, got, first, result, want)
			}
		}
	}
}

func leases(t *testing.T) {
	base := newFixture(t)
	for want, policy := range map[time.Duration]guard.Policy{
		30 * time.Second: {Name: "default"}, 10 * time.Second: guard.Short("short"), 5 * time.Minute: guard.Long("long"),
	} {
		policy.Retain, policy.OnUnknown = 5*time.Minute, guard.Rerun // as in the original specification
		f := &guardFixture{fixture: base}
		f.guard, f.other = newGuard(t, f.client, policy), newGuard(t, base.other, policy)
		_, claim := f.begin(f.guard)
		f.wantPTTL("lock", order, want)
		f.complete(claim)
		if names := f.server.Must("KEYS", "interlock:guard:lock:*"); names != "" {
			t.Errorf("%s: the server still has the locks %s, want none", policy.Name, names)
		}
		f.wantPTTL("result", order, 5*time.Minute)
	}
}

func prefixed(t *testing.T) {
	f := &guardFixture{fixture: newFixture(t)}
	e, err := redisengine.Open(t.Context(), f.server.URL(), redisengine.Records("operation-log:idempotent-"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	f.guard = newGuard(t, f.newClient(e), guard.Policy{Name: "order", OnUnknown: guard.Rerun, Retain: 5 * time.Minute})
	wantKey := func(want string, most time.Duration) {
		t.Helper()
		name := f.server.Must("KEYS", "*")
		if !strings.HasPrefix(name, want) || strings.Contains(name, "\n") {
			t.Fatalf("the server has the keys %q, want one with the prefix %s", name, want)
		}
		ms, _ := strconv.Atoi(f.server.Must("PTTL", name))
		if left := time.Duration(ms) * time.Millisecond; left > most || left < most-2*time.Second {
			t.Errorf("%s is kept for %v, want %v", name, left, most)
		}
	}
	_, claim := f.begin(f.guard)
	wantKey("operation-log:idempotent-lock:{order:", 30*time.Second)
	f.complete(claim)
	wantKey("operation-log:idempotent-result:{order:", 5*time.Minute)
}

func tokenLife(t *testing.T) {
	f := newGuardFixture(t, guard.Policy{Name: "token", Retain: 5 * time.Minute})
	tokens, err := guard.NewTokens(time.Minute, []byte("a secret that all processes share"))
	if err != nil {
		t.Fatal(err)
	}
	redeem := func(token string) guard.Key {
		t.Helper()
		key, err := tokens.Redeem(token, "ada", "order")
		if err != nil {
			t.Fatal(err)
		}
		return key
	}

	spent := tokens.Issue("ada", "order")
	result := f.do(f.guard, redeem(spent))
	f.wantReplay(redeem(spent), result)
	f.wantPTTL("result", redeem(spent), 5*time.Minute)

	failed, errStock := tokens.Issue("ada", "order"), errors.New("out of stock")
	_, err = f.guard.Do(t.Context(), redeem(failed), func(context.Context) (string, error) { return "", errStock })
	f.wantErr(err, errStock)
	f.do(f.other, redeem(failed)) // the same token works again
	f.wantRuns(2)

	running := tokens.Issue("ada", "order")
	_, claim, err := f.guard.Begin(t.Context(), redeem(running))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*guard.Guard[string]{f.guard, f.other} {
		_, err := g.Do(t.Context(), redeem(running), f.work)
		var duplicate *guard.DuplicateError
		if !errors.As(err, &duplicate) || duplicate.Message.In("zh") != "操作处理中，请勿重复提交" {
			t.Errorf("Do: got %v, want a DuplicateError with the Chinese message", err)
		}
	}
	if err := claim.Complete("done"); err != nil {
		t.Fatal(err)
	}
	f.wantRuns(2)
}

func orderOnce(t *testing.T) {
	f := newGuardFixture(t, guard.Policy{Name: "order", OnDuplicate: guard.Wait})
	placed := make(chan string, 2)
	for _, g := range []*guard.Guard[string]{f.guard, f.other} {
		go func() {
			number, err := g.Do(t.Context(), order, func(ctx context.Context) (string, error) {
				time.Sleep(100 * time.Millisecond) // placing an order takes a while
				return f.work(ctx)
			})
			if err != nil {
				t.Error(err)
			}
			placed <- number
		}()
	}
	numbers := []string{<-placed, <-placed}
	numbers = append(numbers, f.do(f.guard, order), f.do(f.other, order)) // the page is reloaded
	slices.Sort(numbers)
	if numbers = slices.Compact(numbers); len(numbers) != 1 {
		t.Errorf("the orders %q were placed, want one", numbers)
	}
	f.wantRuns(1)
}

func paymentOnce(t *testing.T) {
	f := newGuardFixture(t, guard.Payment("payment"))
	errs := make(chan error, 5)
	for i := range 5 {
		g := []*guard.Guard[string]{f.guard, f.other}[i%2]
		go func() {
			_, err := g.Do(t.Context(), order, f.work)
			errs <- err
		}()
	}
	refusals := 0
	for range 5 {
		if err := <-errs; err != nil {
			f.wantErr(err, guard.ErrDuplicate)
			refusals++
		}
	}
	if f.wantRuns(1); refusals != 4 {
		t.Errorf("%d clicks were refused, want 4", refusals)
	}
}

func importOnce(t *testing.T) {
	f := newGuardFixture(t, guard.Import("import"))
	for _, user := range []string{"ada", "bob", "eve"} {
		for _, g := range []*guard.Guard[string]{f.guard, f.other} {
			if got := f.do(g, guard.Of(user, "stock-2026-11")); got != "result 1" {
				t.Errorf("%s got %q, want result 1", user, got)
			}
		}
	}
	f.wantRuns(1)
}
