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

// TestSeeds goes through the cases that the seeds name, by their ids, on a real
// Redis: one guard is this process, and the other stands for another one.
func TestSeeds(t *testing.T) {
	for _, c := range []struct {
		name  string
		prove func(t *testing.T)
	}{
		{"L5 a handler of 1 s and a lease of 10 s: the next one is accepted after 1 s, at once", fastCase},
		{"L6 a handler of 3 s and a lease of 5 s: duplicates are refused for 3 s, and then accepted", slowCase},
		{"L7 a handler of 3 s and a lease of 2 s: duplicates are refused during the whole handler", timeoutCase},
		{"L7 a late release does not end the claim of the next one", lateRelease},
		{"S1 S2 a check is one round trip, and tells the milliseconds left", oneTrip},
		{"S5 P7 Redis gone: the work passes if the policy is open, and is counted", passes},
		{"S9 repeats are refused for as long as the preset says, from the start", windows},
		{"P2 three scopes: user and key, key alone, user and route and key", scopes},
		{"P3 the presets' leases are on the server, and gone when the work is done", leases},
		{"P5 entries under the seed's prefix, each with an end of its own", prefixed},
		{"P6 a token is spent by success, free again after failure, and refused while it runs", tokenLife},
		{"P10 an order submitted twice is one order", orderOnce},
		{"P10 a payment clicked five times is one payment", paymentOnce},
		{"P10 a batch import started by three people runs once", importOnce},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.prove(t)
		})
	}
}

// free is the policy of seed 000: released when it is done.
func free(lease time.Duration) guard.Policy {
	return guard.Policy{Name: "submit", After: guard.Free, Lease: lease, OnUnknown: guard.Rerun}
}

// handle has a handler run that takes some time, here or as another process, and
// returns where its end will be told.
func (p *post) handle(g *guard.Guard[string], takes time.Duration) <-chan error {
	p.t.Helper()
	begun, done := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := g.Do(p.t.Context(), order, func(ctx context.Context) (string, error) {
			close(begun)
			time.Sleep(takes) // the handler of the seed
			return p.work(ctx)
		})
		done <- err
	}()
	select {
	case <-begun:
	case err := <-done:
		p.t.Fatalf("the handler was not called: %v", err)
	}
	return done
}

// refusedUntil submits duplicates, here and as another process, until the handler
// is done, and demands that all were refused with a time left.
func (p *post) refusedUntil(done <-chan error) (n int) {
	p.t.Helper()
	for {
		for _, g := range []*guard.Guard[string]{p.guard, p.other} {
			_, err := g.Do(p.t.Context(), order, func(context.Context) (string, error) {
				if p.runs.Load() == 0 {
					p.t.Error("a duplicate was let in while the handler was at work")
				}
				return "", nil
			})
			var duplicate *guard.DuplicateError
			switch {
			case p.runs.Load() > 0: // the handler was done meanwhile
			case !errors.As(err, &duplicate):
				p.t.Fatalf("a duplicate got %v", err)
			case duplicate.RetryAfter <= 0 || duplicate.Status != 429:
				p.t.Errorf("a duplicate was refused with %v left and status %d", duplicate.RetryAfter, duplicate.Status)
			default:
				n++
			}
		}
		select {
		case err := <-done:
			if err != nil {
				p.t.Fatalf("the handler ended with %v", err)
			}
			return n
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// acceptedAtOnce requires that the next submission runs at once: an unreleased lease would
// last longer than it waits.
func (p *post) acceptedAtOnce() {
	p.t.Helper()
	runs := p.runs.Load()
	p.soon(time.Second, "the next submission is accepted", func() bool {
		_, err := p.other.Do(p.t.Context(), order, p.work)
		return err == nil
	})
	p.wantRuns(runs + 1)
}

func fastCase(t *testing.T) {
	p := newPost(t, free(10*time.Second))
	start := time.Now()
	err := <-p.handle(p.guard, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	p.acceptedAtOnce()
	if d := time.Since(start); d > 5*time.Second { // half of the lease
		t.Errorf("accepted after %v, want 1 s", d)
	}
}

func slowCase(t *testing.T) {
	p := newPost(t, free(5*time.Second))
	if n := p.refusedUntil(p.handle(p.guard, 3*time.Second)); n < 20 {
		t.Errorf("only %d duplicates came", n)
	}
	p.acceptedAtOnce()
}

func timeoutCase(t *testing.T) {
	p := newPost(t, free(2*time.Second))
	start := time.Now()
	n := p.refusedUntil(p.handle(p.guard, 3*time.Second))
	if d := time.Since(start); n < 20 || d < 3*time.Second {
		t.Errorf("%d duplicates were refused in %v", n, d)
	}
	p.acceptedAtOnce()
}

// lateRelease has a handler lose its claim after 2 s, which it notices too late.
func lateRelease(t *testing.T) {
	policy := free(2 * time.Second)
	policy.MaxHold = 2 * time.Second
	p := newPost(t, policy)
	ctx, claim := p.begin(p.guard)
	p.wantLost(ctx, 2500*time.Millisecond, interlock.ErrMaxHold)
	p.soon(3*time.Second, "another has the claim", func() bool {
		_, theirs, err := p.other.Begin(t.Context(), order)
		if err == nil {
			t.Cleanup(func() { _ = theirs.Abandon() })
		}
		return err == nil
	})
	now := p.look(p.other, order)
	p.wantErr(claim.Complete("late"), interlock.ErrLost)
	if after := p.look(p.other, order); after.State != engine.Running || after.Fence != now.Fence || after.Fence <= claim.Fence() {
		t.Errorf("the claim of the next one was %+v and is %+v", now, after)
	}
}

func oneTrip(t *testing.T) {
	p := newPost(t, guard.Policy{Name: "trip", After: guard.Window, Window: 10 * time.Second, OnUnknown: guard.Rerun})
	p.know(p.guard)
	p.know(newGuard(t, p.place.other, guard.Policy{Name: "other"}))
	before := p.calls("eval")
	_, claim := p.begin(p.guard)
	if n := p.calls("eval") - before; n != 1 {
		t.Errorf("a check that is granted took %d scripts, want 1", n)
	}
	before = p.calls("eval")
	_, err := p.other.Do(t.Context(), order, p.work)
	if n := p.calls("eval") - before; n != 1 {
		t.Errorf("a check that is refused took %d scripts, want 1", n)
	}
	var duplicate *guard.DuplicateError
	if !errors.As(err, &duplicate) || !duplicate.Running {
		t.Fatalf("got %v", err)
	}
	if left := duplicate.RetryAfter; left < 9*time.Second || left > 10*time.Second {
		t.Errorf("%v are left while the work runs, want almost 10 s", left)
	}
	p.complete(claim)
	third := newGuard(t, p.place.other, p.policy)
	most := p.pttl("result", order)
	_, err = third.Do(t.Context(), order, p.work)
	least := p.pttl("result", order)
	if !errors.As(err, &duplicate) || duplicate.Running {
		t.Fatalf("got %v", err)
	}
	const slack = 2 * time.Millisecond // both are rounded
	if told := duplicate.RetryAfter; told > most+slack || told < least-slack {
		t.Errorf("told %v, and the server says %v before and %v after", told, most, least)
	}
}

// pttl returns how long an entry of a record is kept, as the server says.
func (p *post) pttl(entry string, key guard.Key) time.Duration {
	p.t.Helper()
	ms, err := strconv.Atoi(p.server.Must("PTTL", "interlock:guard:"+entry+":{"+p.look(p.other, key).Key+"}"))
	if err != nil {
		p.t.Fatal(err)
	}
	return time.Duration(ms) * time.Millisecond
}

func (p *post) wantPTTL(entry string, key guard.Key, want time.Duration) {
	p.t.Helper()
	if got := p.pttl(entry, key); got > want || got < want-2*time.Second {
		p.t.Errorf("the %s entry is kept for %v, want %v", entry, got, want)
	}
}

func passes(t *testing.T) {
	p := newPost(t, guard.Form("form"))
	p.know(p.guard)
	p.server.Kill()
	for i := range 5 {
		p.do(p.guard, guard.Of("ada", fmt.Sprint("form-", i)))
	}
	p.wantRuns(5)
	if s := p.guard.Stats(); s.Verdicts[guard.Unguarded] != 5 {
		t.Errorf("%d counted as unguarded, want 5", s.Verdicts[guard.Unguarded])
	}
}

func windows(t *testing.T) {
	p := newPost(t, guard.Click("click"))
	start := time.Now()
	if err := <-p.handle(p.guard, 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for p.runs.Load() == 1 {
		_, err := p.other.Do(t.Context(), order, p.work)
		if d := time.Since(start); err == nil && d < 990*time.Millisecond || err != nil && d > 3*time.Second {
			t.Fatalf("after %v: %v", d, err)
		}
		time.Sleep(10 * time.Millisecond) // between two clicks
	}
	for _, policy := range []guard.Policy{guard.Form("form"), guard.Payment("payment"), guard.Export("export")} {
		p := &post{place: p.place}
		p.guard, p.other = newGuard(t, p.client, policy), newGuard(t, p.place.other, policy)
		p.do(p.guard, order)
		p.wantPTTL("result", order, map[string]time.Duration{"form": 5 * time.Second, "payment": 30 * time.Second, "export": 300 * time.Second}[policy.Name])
		_, err := p.other.Do(t.Context(), order, p.work)
		p.wantErr(err, guard.ErrDuplicate)
		p.wantRuns(1)
	}
}

func scopes(t *testing.T) {
	place := newPlace(t)
	first := guard.Key{User: "ada", Route: "orders", ID: "1"}
	for scope, same := range map[guard.Scope]map[guard.Key]bool{
		guard.PerUser:  {{User: "ada", Route: "returns", ID: "1"}: true, {User: "bob", Route: "orders", ID: "1"}: false, {User: "ada", Route: "orders", ID: "2"}: false},
		guard.Global:   {{User: "bob", Route: "returns", ID: "1"}: true, {ID: "1"}: true, {User: "ada", Route: "orders", ID: "2"}: false},
		guard.PerRoute: {first: true, {User: "ada", Route: "returns", ID: "1"}: false, {User: "bob", Route: "orders", ID: "1"}: false},
	} {
		policy := guard.Policy{Name: "scope", Scope: scope}
		policy.Retain, policy.OnUnknown = 5*time.Minute, guard.Rerun // as in the seed
		p := &post{place: place}
		p.guard, p.other = newGuard(t, p.client, policy), newGuard(t, place.other, policy)
		result := p.do(p.guard, first)
		for key, want := range same {
			if got := p.do(p.other, key); (got == result) != want {
				t.Errorf("%s: %+v got %q after %+v got %q", scope, key, got, first, result)
			}
		}
	}
}

func leases(t *testing.T) {
	place := newPlace(t)
	for want, policy := range map[time.Duration]guard.Policy{
		30 * time.Second: {Name: "default"}, 10 * time.Second: guard.Short("short"), 5 * time.Minute: guard.Long("long"),
	} {
		policy.Retain, policy.OnUnknown = 5*time.Minute, guard.Rerun // as in the seed
		p := &post{place: place}
		p.guard, p.other = newGuard(t, p.client, policy), newGuard(t, place.other, policy)
		_, claim := p.begin(p.guard)
		p.wantPTTL("lock", order, want)
		p.complete(claim)
		if names := p.server.Must("KEYS", "interlock:guard:lock:*"); names != "" {
			t.Errorf("%s: %s is left", policy.Name, names)
		}
		p.wantPTTL("result", order, 5*time.Minute)
	}
}

func prefixed(t *testing.T) {
	p := &post{place: newPlace(t)}
	e, err := redisengine.Open(t.Context(), p.server.URL(), redisengine.Records("operation-log:idempotent-"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	p.guard = newGuard(t, p.use(e), guard.Policy{Name: "order", OnUnknown: guard.Rerun, Retain: 5 * time.Minute})
	see := func(want string, most time.Duration) {
		t.Helper()
		name := p.server.Must("KEYS", "*")
		if !strings.HasPrefix(name, want) || strings.Contains(name, "\n") {
			t.Fatalf("on the server are %q, want one that begins with %s", name, want)
		}
		ms, _ := strconv.Atoi(p.server.Must("PTTL", name))
		if left := time.Duration(ms) * time.Millisecond; left > most || left < most-2*time.Second {
			t.Errorf("%s is kept for %v, want %v", name, left, most)
		}
	}
	_, claim := p.begin(p.guard)
	see("operation-log:idempotent-lock:{order:", 30*time.Second)
	p.complete(claim)
	see("operation-log:idempotent-result:{order:", 5*time.Minute)
}

func tokenLife(t *testing.T) {
	p := newPost(t, guard.Policy{Name: "token", Retain: 5 * time.Minute})
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
	result := p.do(p.guard, redeem(spent))
	p.wantReplay(redeem(spent), result)
	p.wantPTTL("result", redeem(spent), 5*time.Minute)

	failed, sorry := tokens.Issue("ada", "order"), errors.New("out of stock")
	_, err = p.guard.Do(t.Context(), redeem(failed), func(context.Context) (string, error) { return "", sorry })
	p.wantErr(err, sorry)
	p.do(p.other, redeem(failed)) // with the same token
	p.wantRuns(2)

	running := tokens.Issue("ada", "order")
	_, claim, err := p.guard.Begin(t.Context(), redeem(running))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*guard.Guard[string]{p.guard, p.other} {
		_, err := g.Do(t.Context(), redeem(running), p.work)
		var duplicate *guard.DuplicateError
		if !errors.As(err, &duplicate) || duplicate.Message.In("zh") != "操作处理中，请勿重复提交" {
			t.Errorf("got %v", err)
		}
	}
	if err := claim.Complete("done"); err != nil {
		t.Fatal(err)
	}
	p.wantRuns(2)
}

func orderOnce(t *testing.T) {
	p := newPost(t, guard.Policy{Name: "order", OnDuplicate: guard.Wait})
	placed := make(chan string, 2)
	for _, g := range []*guard.Guard[string]{p.guard, p.other} {
		go func() {
			number, err := g.Do(t.Context(), order, func(ctx context.Context) (string, error) {
				time.Sleep(100 * time.Millisecond) // it takes a while to place an order
				return p.work(ctx)
			})
			if err != nil {
				t.Error(err)
			}
			placed <- number
		}()
	}
	numbers := []string{<-placed, <-placed}
	numbers = append(numbers, p.do(p.guard, order), p.do(p.other, order)) // and the page loaded again
	slices.Sort(numbers)
	if numbers = slices.Compact(numbers); len(numbers) != 1 {
		t.Errorf("the orders %q were placed", numbers)
	}
	p.wantRuns(1)
}

func paymentOnce(t *testing.T) {
	p := newPost(t, guard.Payment("payment"))
	errs := make(chan error, 5)
	for i := range 5 {
		g := []*guard.Guard[string]{p.guard, p.other}[i%2]
		go func() {
			_, err := g.Do(t.Context(), order, p.work)
			errs <- err
		}()
	}
	refusals := 0
	for range 5 {
		if err := <-errs; err != nil {
			p.wantErr(err, guard.ErrDuplicate)
			refusals++
		}
	}
	if p.wantRuns(1); refusals != 4 {
		t.Errorf("%d clicks were refused, want 4", refusals)
	}
}

func importOnce(t *testing.T) {
	p := newPost(t, guard.Import("import"))
	for _, user := range []string{"ada", "bob", "eve"} {
		for _, g := range []*guard.Guard[string]{p.guard, p.other} {
			if got := p.do(g, guard.Of(user, "stock-2026-11")); got != "result 1" {
				t.Errorf("%s got %q", user, got)
			}
		}
	}
	p.wantRuns(1)
}
