package guard_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
)

var (
	seeds = flag.Int("guard.seeds", 200, "how many random histories of guards to try")
	seed  = flag.Uint64("guard.seed", 0, "run only the history with this seed, and log its events")

	failUnbegun = flag.Bool("guard.unbegun", true, "fail if the outcome of work that never began is unknown")
)

// TestRandom runs two or three processes for some minutes of virtual time, with random
// work, impatient callers, operators and a failing engine. In half of the histories one
// process has an engine that does not fail. With OnUnknown Hold or Resolve, and OnDown
// Closed, no key has two effects, no caller gets another key's result, and at the end
// every outcome is settled or unknown.
func TestRandom(t *testing.T) {
	if *seed != 0 {
		synctest.Test(t, func(t *testing.T) { randomHistory(t, *seed, true) })
		return
	}
	for s := range uint64(*seeds) {
		if synctest.Test(t, func(t *testing.T) { randomHistory(t, s+1, false) }); t.Failed() {
			t.Fatalf("the history with seed %d failed: run it with -guard.seed %d", s+1, s+1)
		}
	}
}

// An outcome is what really happened to one key.
type outcome struct {
	mu      sync.Mutex
	effects []string      // the results of work that had an effect
	began   int           // how often work began
	working int           // how many calls work on the key now
	stored  bool          // Complete has succeeded for a caller
	operate chan struct{} // admits one operator at a time; a mutex would stop the bubble's time
}

func (f *outcome) enter() { f.mu.Lock(); f.working++; f.began++; f.mu.Unlock() }
func (f *outcome) leave() { f.mu.Lock(); f.working--; f.mu.Unlock() }
func (f *outcome) keep()  { f.mu.Lock(); f.stored = true; f.mu.Unlock() }
func (f *outcome) happen(v string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.effects = append(f.effects, v)
}
func (f *outcome) truth() (v string, happened, busy bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.effects) > 0 {
		return f.effects[0], true, f.working > 0
	}
	return "", false, f.working > 0
}

type history struct {
	t          *testing.T
	seed       uint64
	verbose    bool
	start      time.Time
	policy     guard.Policy
	engine     *enginetest.Faulty
	memory     *memory.Engine
	guards     []*guard.Guard[string]
	closed     []atomic.Bool
	outcomes   []*outcome
	stepped    bool // the history sets clocks ahead
	duplicated bool // the engine may execute a settlement twice and send the second reply: AlreadyFree if nothing is kept
}

func (h *history) logf(format string, args ...any) {
	if h.verbose {
		h.t.Logf("%9.3fs %s", time.Since(h.start).Seconds(), fmt.Sprintf(format, args...))
	}
}

func (h *history) errorf(format string, args ...any) {
	h.t.Errorf("seed %d at %.3fs: %s", h.seed, time.Since(h.start).Seconds(), fmt.Sprintf(format, args...))
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func span(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most))) + 1
}

func (h *history) key(i int) guard.Key { return guard.Of("ann", fmt.Sprintf("k%d", i)) }

func newHistory(t *testing.T, seed uint64, verbose bool) (*history, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 1))
	m := memory.New()
	h := &history{t: t, seed: seed, verbose: verbose, start: time.Now(), memory: m, engine: enginetest.NewFaulty(m)}
	h.policy = guard.Policy{
		Name: "random", Retain: 24 * time.Hour,
		Lease:       pick(r, time.Second, 5*time.Second, 30*time.Second),
		OnDuplicate: pick(r, guard.Refuse, guard.Replay, guard.Wait),
		OnError:     pick(r, guard.Free, guard.Keep),
		OnUnknown:   pick(r, guard.Hold, guard.Hold, guard.Resolve),
		MaxHold:     pick(r, 0, 45*time.Second),
	}
	h.stepped = h.policy.OnUnknown == guard.Hold && r.IntN(3) == 0
	h.duplicated = r.IntN(2) == 0
	for range 1 + r.IntN(8) {
		h.outcomes = append(h.outcomes, &outcome{operate: make(chan struct{}, 1)})
	}
	n := 2 + r.IntN(2)
	h.closed = make([]atomic.Bool, n)
	for i := range n {
		var on engine.Engine = h.engine
		if i == 0 && seed%2 == 0 { // no faults between this guard and the engine
			on = h.memory
		}
		var opts []guard.Option
		if h.policy.OnUnknown == guard.Resolve {
			opts = append(opts, guard.Resolver(h.resolve(rand.New(rand.NewPCG(seed, 2)))))
		}
		g, err := guard.New[string](interlock.New(on), h.policy, opts...)
		if err != nil {
			t.Fatal(err)
		}
		h.guards = append(h.guards, g)
	}
	h.logf("%+v, %d guards, stepped %v", h.policy, n, h.stepped)
	return h, r
}

// resolve returns the true outcome, or an error.
func (h *history) resolve(r *rand.Rand) func(context.Context, guard.Key) (string, bool, error) {
	var mu sync.Mutex
	return func(ctx context.Context, key guard.Key) (string, bool, error) {
		mu.Lock()
		d, choice := span(r, time.Second), r.IntN(6)
		mu.Unlock()
		sleep(ctx, d)
		var i int
		_, _ = fmt.Sscanf(key.ID, "k%d", &i)
		v, happened, _ := h.outcomes[i].truth()
		switch {
		case choice == 0:
			return "", false, errors.New("the bank is closed")
		case ctx.Err() != nil:
			return "", false, ctx.Err()
		}
		h.logf("resolver: %s happened: %v", key.ID, happened)
		return v, happened, nil
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

var (
	errDeclined = errors.New("declined")
	errLeft     = errors.New("the caller has left")
)

// job returns random work on the i-th key.
func (h *history) job(r *rand.Rand, g, i int, payload string) func(context.Context) (string, error) {
	f, choice, before, after := h.outcomes[i], r.IntN(12), span(r, pick(r, time.Second, 10*time.Second, time.Minute)), span(r, time.Second)
	v := fmt.Sprintf("k%d/%s/%d", i, payload, r.Uint32())
	return func(ctx context.Context) (string, error) {
		f.enter()
		defer f.leave()
		if h.closed[g].Load() {
			h.errorf("work of guard %d begins after Close has returned", g)
		}
		h.logf("guard %d works on k%d, how %d", g, i, choice)
		if choice == 0 { // ignores its context. With a resolver it is declined: the resolver would look before the effect
			if h.policy.OnUnknown == guard.Resolve {
				return "", errDeclined
			}
			time.Sleep(before)
		} else if sleep(ctx, before); ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		switch choice {
		case 1, 2:
			return "", errDeclined
		case 3:
			return "", guard.OutcomeUnknown(errDeclined)
		case 4:
			panic("not done")
		}
		f.happen(v)
		h.logf("guard %d: effect on k%d", g, i)
		switch choice {
		case 5:
			return "", guard.OutcomeUnknown(errDeclined)
		case 6:
			panic("done")
		case 7:
			return "", context.DeadlineExceeded
		case 8, 9:
			if sleep(ctx, after); ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
		}
		return v, nil
	}
}

// call makes one random call.
func (h *history) call(r *rand.Rand) {
	defer func() {
		if p := recover(); p != nil && p != "done" && p != "not done" {
			panic(p)
		}
	}()
	g, i, payload := r.IntN(len(h.guards)), r.IntN(len(h.outcomes)), pick(r, "", "a", "a", "a", "b")
	key := h.key(i)
	if payload != "" {
		key = key.For([]byte(payload))
	}
	ctx := h.t.Context()
	if r.IntN(3) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, span(r, 20*time.Second))
		defer cancel()
	} else if r.IntN(2) == 0 {
		inner, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(span(r, 20*time.Second), func() { cancel(errLeft) })
		defer timer.Stop()
		ctx = inner
	}
	job := h.job(r, g, i, payload)
	var v string
	var err error
	if r.IntN(4) > 0 {
		v, err = h.guards[g].Do(ctx, key, job)
	} else {
		v, err = h.transact(ctx, h.guards[g], h.outcomes[i], key, job)
	}
	h.logf("guard %d k%d/%s: %q, %v", g, i, payload, v, err)
	if err != nil {
		return
	}
	part := strings.Split(v, "/")
	if len(part) != 3 || part[0] != fmt.Sprintf("k%d", i) {
		h.errorf("a caller for k%d got %q, the result of another key", i, v)
	} else if payload != "" && part[1] != "" && part[1] != payload {
		h.errorf("a caller for k%d/%s got %q, the result of another payload", i, payload, v)
	}
	if truth, happened, _ := h.outcomes[i].truth(); !happened || truth != v {
		h.errorf("a caller got %q, but the true result is %q, happened: %v", v, truth, happened)
	}
}

// transact does a job with Begin instead of Do.
func (h *history) transact(ctx context.Context, g *guard.Guard[string], f *outcome, key guard.Key, job func(context.Context) (string, error)) (string, error) {
	ctx, claim, err := g.Begin(ctx, key)
	if err != nil {
		return "", err
	}
	defer claim.Abandon()
	if v, ok := claim.Result(); ok {
		return v, nil
	}
	v, err := job(ctx)
	sure := !h.stepped && claim.Left() > 3*time.Second // longer than a settlement takes
	switch {
	case err == nil:
		switch err = claim.Complete(v); {
		case err == nil:
			f.keep()
		case errors.Is(err, guard.ErrNotStored):
			err = nil
		case sure:
			h.errorf("Complete = %v although the claim was held", err)
		}
		return v, err
	case errors.Is(err, errDeclined) && !errors.Is(err, guard.ErrUnknown):
		failed := claim.Fail(err)
		if sure && !h.duplicated && failed != nil && !errors.Is(failed, guard.ErrNotStored) {
			h.errorf("Fail = %v although the claim was held", failed)
		}
		return "", errors.Join(err, failed)
	}
	return "", err
}

// operator settles unknown outcomes with the true result.
func (h *history) operator(r *rand.Rand) {
	g, i := h.guards[r.IntN(len(h.guards))], r.IntN(len(h.outcomes))
	f := h.outcomes[i]
	f.operate <- struct{}{}
	defer func() { <-f.operate }()
	ctx, cancel := context.WithTimeout(h.t.Context(), span(r, 10*time.Second))
	defer cancel()
	key := h.key(i)
	s, err := g.Lookup(ctx, key)
	if err == nil && r.IntN(2) == 0 {
		key = guard.Hashed(s.Key)
	}
	v, happened, busy := f.truth()
	switch {
	case err != nil || s.State != engine.Unknown || busy:
	case happened:
		h.logf("Resolve k%d: %v", i, g.Resolve(ctx, key, v))
	default:
		h.logf("Forget k%d: %v", i, g.Forget(ctx, key))
	}
}

// injectFault injects a random fault.
func (h *history) injectFault(r *rand.Rand) {
	op := pick(r, enginetest.OpClaim, enginetest.OpClaimRenew, enginetest.OpSettle, enginetest.OpSettle, enginetest.OpLookup, enginetest.OpNotify)
	f := enginetest.Fault{Op: op, Times: 1 + r.IntN(4), After: span(r, h.policy.Lease*9/10)}
	f.Do = pick(r, enginetest.Refuse, enginetest.LoseReply, enginetest.Delay, enginetest.Duplicate, enginetest.Hang)
	if f.Do == enginetest.Duplicate && op == enginetest.OpSettle && !h.duplicated {
		f.Do = enginetest.LoseReply
	}
	if op == enginetest.OpNotify {
		f.Do = pick(r, enginetest.Mute, enginetest.Delay)
	}
	if r.IntN(4) == 0 && op != enginetest.OpNotify && f.Do != enginetest.Delay {
		f.Times = 0
	}
	switch {
	case h.stepped && r.IntN(4) == 0:
		d := span(r, 2*h.policy.Lease)
		h.logf("the engine's clock is set ahead by %v", d)
		h.engine.Step(d)
	case h.stepped && r.IntN(4) == 0:
		d := span(r, 2*h.policy.Lease)
		h.logf("a wall clock is set ahead by %v", d)
		h.guards[r.IntN(len(h.guards))].StepWall(d)
	case r.IntN(3) == 0:
		h.logf("healed")
		h.engine.Heal()
	default:
		h.logf("%s: %s, %d times, %v", f.Op, f.Do, f.Times, f.After)
		h.engine.Inject(f)
	}
}

// end closes a guard, and checks that Close returns.
func (h *history) end(g int, within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	start := time.Now()
	err := h.guards[g].Close(ctx)
	h.logf("guard %d closed: %v", g, err)
	if d := time.Since(start); d > within+3*time.Second {
		h.errorf("Close(%v) took %v", within, d)
	}
	h.closed[g].Store(true)
}

func randomHistory(t *testing.T, seed uint64, verbose bool) {
	h, r := newHistory(t, seed, verbose)
	var all sync.WaitGroup
	do := func(fn func(*rand.Rand)) {
		random := rand.New(rand.NewPCG(r.Uint64(), 3))
		all.Go(func() { fn(random) })
	}
	early := r.IntN(2) == 0
	for range 20 + r.IntN(60) {
		switch n := r.IntN(20); {
		case n < 11:
			for range 1 + r.IntN(4) {
				do(h.call)
			}
		case n < 13:
			do(h.operator)
		case n < 14 && early:
			early = false
			g, within := r.IntN(len(h.guards)), span(r, pick(r, time.Second, 30*time.Second))
			do(func(*rand.Rand) { h.end(g, within) })
		default:
			h.injectFault(r)
		}
		time.Sleep(span(r, pick(r, 10*time.Millisecond, time.Second, 10*time.Second)))
	}
	h.engine.Heal()
	h.logf("healed until the end")
	all.Wait()
	time.Sleep(5 * time.Minute) // until all background clean-ups have ended
	h.engine.Wait()
	h.settled()
	for g := range h.guards {
		h.end(g, time.Minute)
		if s := h.guards[g].Stats(); s.Running != 0 || s.Waiting != 0 || h.guards[g].Entries() != 0 {
			h.errorf("guard %d is closed, but %d claims run, %d calls wait and there are %d entries", g, s.Running, s.Waiting, h.guards[g].Entries())
		}
	}
}

// settled checks that every known outcome is true, and that a new caller gets it.
func (h *history) settled() {
	for i, f := range h.outcomes {
		v, happened, busy := f.truth()
		if len(f.effects) > 1 {
			h.errorf("k%d has the effects %q", i, f.effects)
		}
		s, err := h.guards[0].Lookup(context.Background(), h.key(i))
		switch {
		case err != nil || busy:
			h.errorf("Lookup of k%d = %v, still working: %v; want nil and false", i, err, busy)
		case s.State == engine.Running:
			h.errorf("k%d is still running, for %v", i, s.Left)
		case *failUnbegun && !h.stepped && s.State == engine.Unknown && f.began == 0:
			h.errorf("the outcome of k%d is unknown, but its work never began", i)
		case f.stored && s.State != engine.Done:
			h.errorf("k%d is %v, but Complete has succeeded", i, s.State)
		case happened && s.State != engine.Done && s.State != engine.Unknown, !happened && s.State == engine.Done:
			h.errorf("k%d is %v, but happened: %v", i, s.State, happened)
		}
		for g := range h.guards {
			if h.closed[g].Load() || s.State != engine.Done || h.policy.OnDuplicate == guard.Refuse {
				continue
			}
			if got, err := h.guards[g].Do(context.Background(), h.key(i), nil); err != nil || got != v {
				h.errorf("k%d is done, and guard %d answers %q, %v; want %q", i, g, got, err, v)
			}
		}
	}
}
