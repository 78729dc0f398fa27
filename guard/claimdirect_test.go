package guard_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
)

// claimDirectLaws are about claims on an in-process engine, without the inflight table.
var claimDirectLaws = []law{
	{"an in-process engine gives the same verdicts as a remote one", func(t *testing.T, w *world) {
		direct := verdictsOf(t, w, memory.New())
		throughTable := verdictsOf(t, w, enginetest.NewFaulty(memory.New()))
		if !slices.Equal(direct, throughTable) {
			t.Errorf("the answers in process are\n%q\nwant those of a remote engine:\n%q", direct, throughTable)
		}
	}},
	{"of a thousand concurrent calls one runs, and the others get what the policy says", func(t *testing.T, w *world) {
		for _, p := range []guard.Policy{
			{Name: "replay", OnDuplicate: guard.Replay}, {Name: "refuse", OnDuplicate: guard.Refuse}, {Name: "wait", OnDuplicate: guard.Wait},
		} {
			g, j := process[string](t, w, p), work("a", time.Second)
			if got, dup := storm(t, g, j); p.OnDuplicate == guard.Wait && dup > 0 || p.OnDuplicate != guard.Wait && got != 1 {
				t.Errorf("%s: while the work runs, %d calls got the result and %d were refused", p.Name, got, dup)
			}
			if got, dup := storm(t, g, j); p.OnDuplicate == guard.Refuse && got > 0 || p.OnDuplicate != guard.Refuse && dup > 0 {
				t.Errorf("%s: after the work, %d calls got the result and %d were refused", p.Name, got, dup)
			}
			j.want(t, 1)
		}
	}},
	{"on an in-process engine, repeats count as coalesced and grants as asked (T10)", func(t *testing.T, w *world) {
		for _, p := range []guard.Policy{
			{Name: "replay", OnDuplicate: guard.Replay}, {Name: "refuse", OnDuplicate: guard.Refuse}, {Name: "wait", OnDuplicate: guard.Wait},
		} {
			g, j := process[string](t, w, p), work("a", time.Second)
			storm(t, g, j)
			if s := g.Stats(); s.Asked != 1 || s.Coalesced != 999 {
				t.Errorf("%s: Asked = %d, Coalesced = %d; want 1 and 999", p.Name, s.Asked, s.Coalesced)
			}
		}
		l := newFailing(w)
		g := on[string](t, w, l, order)
		l.claim = func(engine.Claim) error { return engine.ErrFull }
		fails(t, g, key, work("a", 0), guard.ErrDown)
		if s := g.Stats(); s.Asked != 1 || s.Coalesced != 0 {
			t.Errorf("with a full engine: Asked = %d, Coalesced = %d; want 1 and 0", s.Asked, s.Coalesced)
		}
	}},
	{"a direct claim adds no entry and leaves nothing behind", func(t *testing.T, w *world) {
		g := process[string](t, w, rerun)
		do(t, g, guard.Of("ann", "first"), work("a", 0), "a") // so that the guard has started everything it needs
		synctest.Wait()
		before := runtime.NumGoroutine()
		for i, end := range []func(*guard.Claim[string]) error{
			func(c *guard.Claim[string]) error { return c.Complete("a") },
			func(c *guard.Claim[string]) error { return c.Fail(errNo) },
			(*guard.Claim[string]).Free, (*guard.Claim[string]).Abandon,
		} {
			k := guard.Of("ann", fmt.Sprint(i))
			_, c := begin(t, g, k)
			refused(t, g, k, work("b", 0))
			if n := g.Entries(); n != 0 {
				t.Errorf("there are %d entries, want none", n)
			}
			ok(t, end(c))
			_, err := g.Do(t.Context(), k, work("b", 0).do)
			ok(t, err)
			synctest.Wait()
			if g.Entries() != 0 || g.TimerArmed() || runtime.NumGoroutine() > before {
				t.Errorf("%d entries, timer armed: %v, %d goroutines; want none, false and at most %d", g.Entries(), g.TimerArmed(), runtime.NumGoroutine(), before)
			}
		}
	}},
	{"a claim with waiters leaves no entry and no timer behind", func(t *testing.T, w *world) {
		g, j := process[string](t, w, patient), work("a", time.Second)
		wait := startCall(t, g, key, &job{err: errNo, takes: time.Second})
		together(5, func(int) { do(t, g, key, j, "a") }) // the first waiter runs next
		_, err := wait()
		wantErr(t, err, errNo)
		if g.Entries() != 0 || g.TimerArmed() {
			t.Errorf("%d entries, timer armed: %v; want none and false", g.Entries(), g.TimerArmed())
		}
		j.want(t, 1)
	}},
	{"a settlement wakes its waiters at once, in every process", func(t *testing.T, w *world) {
		patient := patient
		patient.OnUnknown = guard.Rerun
		ends := map[string]func(*guard.Claim[string]) error{
			"complete": func(c *guard.Claim[string]) error { return c.Complete("a") },
			"fail":     func(c *guard.Claim[string]) error { return c.Fail(errNo) },
			"free":     (*guard.Claim[string]).Free,
			"abandon":  (*guard.Claim[string]).Abandon,
		}
		for name, end := range ends {
			g, otherProcess, k := process[string](t, w, patient), process[string](t, w, patient), guard.Of("ann", name)
			_, c := begin(t, g, k)
			start, j := time.Now(), work("a", 0)
			var waits []func() (string, error)
			for range 3 {
				waits = append(waits, startCall(t, g, k, j), startCall(t, otherProcess, k, j))
			}
			time.Sleep(123 * time.Millisecond)
			ok(t, end(c))
			for _, wait := range waits {
				if v, err := wait(); err != nil || v != "a" {
					t.Errorf("%s: a waiter got %q, %v; want a", name, v, err)
				}
			}
			if d := time.Since(start); d != 123*time.Millisecond {
				t.Errorf("%s: the waiters were woken after %v, want 123ms", name, d)
			}
		}
	}},
	{"with Rerun a waiter takes over a lost claim when its lease expires", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Rerun, OnDuplicate: guard.Wait, Wait: time.Hour, MaxHold: time.Minute}
		g, otherProcess, j := process[string](t, w, p), process[string](t, w, p), work("a", 0)
		ctx, c := begin(t, g, key)
		first, second := startCall(t, g, key, j), startCall(t, otherProcess, key, j)
		<-ctx.Done()
		lost := time.Now()
		for _, wait := range []func() (string, error){first, second} {
			if v, err := wait(); err != nil || v != "a" {
				t.Errorf("a waiter got %q, %v; want a", v, err)
			}
		}
		if d := time.Since(lost); d <= 0 || d > guard.DefaultLease+10*time.Millisecond {
			t.Errorf("the claim was taken over %v after it was lost, want within its lease", d)
		}
		wantErr(t, c.Complete("late"), errLost)
		j.want(t, 1)
	}},
	{"a waiter gets the new result, not a cached older one", func(t *testing.T, w *world) {
		g, otherProcess := process[string](t, w, patient), process[string](t, w, patient)
		_, c := begin(t, g, key)
		next := startCall(t, g, key, work("old", 0)) // a call that waited adds an entry when it runs
		ok(t, c.Free())
		_, err := next()
		ok(t, err)
		for i := range 10 { // reuse the buffer
			do(t, g, guard.Of("ann", fmt.Sprint("other", i)), work("other", 0), "other")
		}
		hash, _ := stored(t, w, g, key)
		w.memory.Evict(hash)
		wait := startCall(t, otherProcess, key, work("new", time.Second))
		do(t, g, key, work("a", 0), "new")
		_, err = wait()
		ok(t, err)
	}},
	{"with Open, work runs unguarded if the engine is full", func(t *testing.T, w *world) {
		w.memory = memory.New(memory.MaxKeys(1))
		g, closed := process[string](t, w, guard.Policy{Name: "order", OnDown: guard.Open}), process[string](t, w, order)
		_, c := begin(t, g, guard.Of("ann", "there first"))
		j := work("a", 0)
		wantErr(t, fails(t, closed, key, j, guard.ErrDown), engine.ErrFull)
		j.want(t, 0)
		do(t, g, key, j, "a")
		ok(t, c.Free())
	}},
	{"a call with an ended context fails and leaves nothing behind", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errNo)
		_, err := g.Do(ctx, key, work("a", 0).do)
		wantErr(t, err, errNo)
		do(t, g, key, work("a", 0), "a")
	}},
	{"a failing in-process engine counts as down after the same time as a remote one", func(t *testing.T, w *world) {
		l := newFailing(w)
		g, j := on[string](t, w, l, order), work("a", 0)
		l.claim = func(engine.Claim) error { return engine.ErrUnavailable }
		start := time.Now()
		fails(t, g, key, j, guard.ErrDown)
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("the call failed after %v, want at most 2s", d)
		}
		l.claim = nil
		do(t, g, key, j, "a")
	}},
	{"an in-process engine refuses another payload after one call", func(t *testing.T, w *world) {
		l, looks := newFailing(w), 0
		g := on[string](t, w, l, order)
		do(t, g, key.For([]byte("x")), work("a", 0), "a")
		l.claim = func(engine.Claim) error { looks++; return nil }
		fails(t, g, key.For([]byte("y")), work("b", 0), guard.ErrMismatch)
		if looks != 1 {
			t.Errorf("the engine was asked %d times, want once", looks)
		}
	}},
	{"a result that is stored late is not overwritten by a reused buffer", func(t *testing.T, w *world) {
		l := newFailing(w)
		g := on[string](t, w, l, order)
		_, c := begin(t, g, key)
		s, err := g.Lookup(t.Context(), key)
		ok(t, err)
		var refusing atomic.Bool
		refusing.Store(true)
		l.settle = func(x engine.Settlement) error {
			if x.Key == s.Key && refusing.Load() {
				return engine.ErrUnavailable
			}
			return nil
		}
		wantErr(t, c.Complete("the right one"), guard.ErrNotStored)
		together(100, func(i int) { // reuse the buffer
			do(t, g, guard.Of("ann", fmt.Sprint("other", i)), work("something else", 0), "something else")
		})
		refusing.Store(false)
		time.Sleep(2 * time.Second) // the guard retries in the background
		do(t, process[string](t, w, order), key, work("a", 0), "the right one")
		if n := g.Stats().Endings[guard.StoredLate]; n != 1 {
			t.Errorf("%d results were stored late, want 1", n)
		}
	}},
	{"a late grant is given back, also on an in-process engine", func(t *testing.T, w *world) {
		l := newFailing(w)
		g, j := on[string](t, w, l, guard.Policy{Name: "order", Lease: time.Second}), work("a", 0)
		l.claim = func(engine.Claim) error { time.Sleep(990 * time.Millisecond); return nil } // as if the process was paused
		fails(t, g, key, j, guard.ErrDown)
		j.want(t, 0)
		l.claim = nil
		time.Sleep(100 * time.Millisecond)
		do(t, g, key, j, "a")
	}},
	{"a panic in an in-process engine leaves no caller waiting", func(t *testing.T, w *world) {
		l := newFailing(w)
		g, j := on[string](t, w, l, patient), work("a", 0)
		l.claim = func(engine.Claim) error { panic("boom") }
		func() {
			defer func() { _ = recover() }()
			_, _ = g.Do(t.Context(), key, j.do)
			t.Error("the panic was swallowed")
		}()
		if n := g.Stats().Waiting; n != 0 || g.Entries() != 0 {
			t.Errorf("%d calls wait and there are %d entries, want none", n, g.Entries())
		}
		l.claim = nil
		do(t, g, key, j, "a")
	}},
}

// A failing engine runs in process and fails on command.
type failing struct {
	engine.Engine
	claim  func(engine.Claim) error      // called before each claim; may be nil
	settle func(engine.Settlement) error // called before each settlement; may be nil
}

func newFailing(w *world) *failing { return &failing{Engine: w.memory} }

func (h *failing) Capabilities() engine.Capabilities {
	c := h.Engine.Capabilities()
	c.Ledger = failingLedger{c.Ledger, h}
	return c
}

type failingLedger struct {
	engine.Ledger
	hooks *failing
}

func (l failingLedger) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	if l.hooks.claim != nil {
		if err := l.hooks.claim(c); err != nil {
			return engine.Record{}, err
		}
	}
	return l.Ledger.Claim(ctx, c)
}

func (l failingLedger) Settle(ctx context.Context, s engine.Settlement) (engine.Outcome, error) {
	if l.hooks.settle != nil {
		if err := l.hooks.settle(s); err != nil {
			return 0, err
		}
	}
	return l.Ledger.Settle(ctx, s)
}

// storm makes a thousand concurrent calls and counts results and duplicates.
func storm(t *testing.T, g *guard.Guard[string], j *job) (got, dup int64) {
	t.Helper()
	var results, duplicates atomic.Int64
	together(1000, func(int) {
		switch v, err := g.Do(t.Context(), key, j.do); {
		case err == nil && v == j.result:
			results.Add(1)
		case errors.Is(err, guard.ErrDuplicate):
			duplicates.Add(1)
		default:
			t.Errorf("Do = %q, %v; want the result or a duplicate", v, err)
		}
	})
	return results.Load(), duplicates.Load()
}

// verdictsOf returns the answers to calls in every state of a key, for several policies.
func verdictsOf(t *testing.T, w *world, e engine.Engine) (seen []string) {
	t.Helper()
	note := func(v string, err error) { seen = append(seen, v+" "+errorText(err)) }
	call := func(g *guard.Guard[string], k guard.Key, j *job) { note(g.Do(t.Context(), k, j.do)) }
	for _, p := range []guard.Policy{
		{Name: "replay", OnError: guard.Keep, OnUnknown: guard.Hold},
		{Name: "refuse", OnDuplicate: guard.Refuse, OnError: guard.Keep, OnUnknown: guard.Hold},
		{Name: "wait", OnDuplicate: guard.Wait, OnError: guard.Keep, OnUnknown: guard.Hold},
		{Name: "free", After: guard.Free, OnUnknown: guard.Hold},
		{Name: "window", After: guard.Window, Window: time.Minute, OnUnknown: guard.Hold},
	} {
		for _, otherUser := range []bool{false, true} {
			first := on[string](t, w, e, p)
			second := first
			if otherUser {
				second = on[string](t, w, e, p)
			}
			keyOf := func(id string) guard.Key { return guard.Of(fmt.Sprint(otherUser), id).For([]byte("x")) }
			wait := startCall(t, first, keyOf("work"), work("a", time.Second))
			call(second, keyOf("work"), work("b", 0)) // while the work runs
			call(second, guard.Of(fmt.Sprint(otherUser), "work").For([]byte("y")), work("b", 0))
			note(wait())
			call(second, keyOf("work"), work("b", 0)) // after the work is done
			call(second, keyOf("failure"), &job{err: errNo})
			call(first, keyOf("failure"), work("b", 0))
			_, c := begin(t, first, keyOf("open"))
			ok(t, c.Abandon())
			call(second, keyOf("open"), work("b", 0))
			call(second, guard.Of(fmt.Sprint(otherUser), "open").For([]byte("y")), work("b", 0))
		}
	}
	return seen
}

// errorText describes an error without its durations.
func errorText(err error) string {
	var d *guard.DuplicateError
	var f *guard.FailedError
	switch {
	case err == nil:
		return "without an error"
	case errors.As(err, &d):
		return fmt.Sprintf("duplicate of %s: running %v, too many waiters %v, self %v, status %d, %q", d.Guard, d.Running, d.TooManyWaiters, d.Self, d.Status, d.Message.In("en"))
	case errors.As(err, &f):
		return fmt.Sprintf("failed %s: %s", f.Guard, f.Text)
	}
	for _, kind := range []error{guard.ErrMismatch, guard.ErrUnknown, guard.ErrNoResult, errNo} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}
