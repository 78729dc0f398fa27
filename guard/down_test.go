package guard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
)

// failEngine makes the given calls to the engine fail from now on; by default all calls.
func failEngine(w *world, ops ...enginetest.Op) {
	if len(ops) == 0 {
		ops = []enginetest.Op{enginetest.OpClaim, enginetest.OpClaimRenew, enginetest.OpSettle, enginetest.OpLookup}
	}
	for _, op := range ops {
		w.engine.Inject(enginetest.Fault{Op: op, Do: enginetest.Refuse})
	}
}

var downLaws = []law{
	{"by default nothing runs while the engine is down, and the caller gets an error soon", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		failEngine(w)
		start := time.Now()
		err := fails(t, g, key, j, guard.ErrDown)
		wantErr(t, err, engine.ErrUnavailable)
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("the call failed after %v, want at most 2s", d)
		}
		j.want(t, 0)
		w.engine.Heal()
		do(t, g, key, j, "a")
	}},
	{"a short outage only delays a call", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		failEngine(w)
		time.AfterFunc(500*time.Millisecond, w.engine.Heal)
		do(t, g, key, j, "a")
		j.want(t, 1)
	}},
	{"with Open the work runs unguarded, and is traced and counted (P7, S5)", func(t *testing.T, w *world) {
		p := guard.Form("form")
		var seen []guard.Checked
		g, j := process[string](t, w, p, guard.WithTrace(&guard.Trace{Checked: func(c guard.Checked) { seen = append(seen, c) }})), work("a", 0)
		failEngine(w)
		do(t, g, key, j, "a")
		do(t, g, key, j, "a")
		_, c := begin(t, g, key)
		wantErr(t, c.Unguarded(), engine.ErrUnavailable)
		ok(t, c.Complete("a"))
		ok(t, c.Abandon())
		j.want(t, 2)
		if n := g.Stats().Verdicts[guard.Unguarded]; n != 3 {
			t.Errorf("%d calls ran unguarded, want 3", n)
		}
		for _, c := range seen {
			if c.Verdict != guard.Unguarded || !errors.Is(c.Err, engine.ErrUnavailable) {
				t.Errorf("traced %+v, want the verdict unguarded and the engine's error", c)
			}
		}
		_, err := g.Do(t.Context(), key, func(ctx context.Context) (string, error) {
			if _, ok := guard.Fence(ctx); ok {
				t.Error("unguarded work has a fence")
			}
			return "", nil
		})
		ok(t, err)
	}},
	{"with Local, only the first of many calls waits for an engine that is down", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Policy{Name: "order", OnDown: guard.Local}), work("a", 0)
		failEngine(w)
		do(t, g, key, j, "a")
		start := time.Now()
		for i := range 100 {
			do(t, g, guard.Of("ann", string(rune('a'+i))), j, "a")
		}
		if d := time.Since(start); d > time.Millisecond {
			t.Errorf("a hundred calls took %v, want no wait", d)
		}
	}},
	{"after the first failure no caller waits for an engine that is down, however long that lasts", func(t *testing.T, w *world) {
		for _, down := range []guard.OnDown{guard.Open, guard.Local} {
			g, j := remote[string](t, w, guard.Policy{Name: "order-" + string(down), OnDown: down}), work("a", 0)
			failEngine(w)
			do(t, g, key, j, "a")
			for i := range 600 {
				start := time.Now()
				do(t, g, guard.Of("ann", fmt.Sprint(i)), j, "a")
				if d := time.Since(start); d > 0 {
					t.Errorf("%s: call %d took %v, want no wait", down, i, d)
				}
				time.Sleep(100 * time.Millisecond)
			}
			w.engine.Heal()
			time.Sleep(guard.DefaultLocalCache)
			before := g.Stats()
			do(t, g, guard.Of("bob", "1"), j, "a")
			if now := g.Stats(); now.Verdicts[guard.Unguarded] != before.Verdicts[guard.Unguarded] || now.Local != before.Local {
				t.Errorf("%s: the work was not guarded after the engine recovered", down)
			}
		}
	}},
	{"a node that is down leaves the keys of other nodes guarded, and is probed until it answers", func(t *testing.T, w *world) {
		e := &twoNodes{Engine: w.engine}
		for _, onDown := range []guard.OnDown{guard.Open, guard.Local} {
			var last guard.Checked
			g := on[string](t, w, e, guard.Policy{Name: "order-" + string(onDown), OnDown: onDown},
				guard.WithTrace(&guard.Trace{Checked: func(c guard.Checked) { last = c }}))
			e.down.Store(true)
			seen := map[bool]int{}
			for i := range 60 {
				do(t, g, guard.Of("ann", fmt.Sprint(i)), work("a", 0), "a")
				down := e.node(last.Key) == "down"
				seen[down]++
				if without := last.Verdict == guard.Unguarded || last.Local; without != down {
					t.Errorf("%s: a key of node %q ended as %q, local %v", onDown, e.node(last.Key), last.Verdict, last.Local)
				}
			}
			if seen[true] == 0 || seen[false] == 0 {
				t.Errorf("all keys are on one node: %v", seen)
			}
			e.down.Store(false)
			time.Sleep(guard.DefaultLocalCache)
			for i := range 20 {
				do(t, g, guard.Of("bob", fmt.Sprint(i)), work("a", 0), "a")
				if last.Verdict == guard.Unguarded || last.Local {
					t.Errorf("%s: the node is back, but a call ended as %q, local %v", onDown, last.Verdict, last.Local)
				}
			}
		}
	}},
	{"every run without the engine is counted, and reported to the client's trace and log", func(t *testing.T, w *world) {
		var (
			seen []interlock.Degraded
			log  bytes.Buffer
		)
		client := interlock.New(w.engine, interlock.WithTrace(&interlock.Trace{Degraded: func(e interlock.Degraded) { seen = append(seen, e) }}),
			interlock.WithTrace(interlock.Log(slog.New(slog.NewTextHandler(&log, nil)))))
		open, err := guard.New[string](client, guard.Form("form"))
		ok(t, err)
		local, err := guard.New[string](client, guard.Policy{Name: "order", OnDown: guard.Local})
		ok(t, err)
		failEngine(w)
		for i := range 50 {
			do(t, open, guard.Of("ann", fmt.Sprint(i)), work("a", 0), "a")
			do(t, local, guard.Of("ann", fmt.Sprint(i)), work("a", 0), "a")
		}
		if s := client.Stats(); s.Unguarded != 50 || s.Local != 50 || local.Stats().Local != 50 {
			t.Errorf("counted %d unguarded and %d local, want 50 each", s.Unguarded, s.Local)
		}
		if len(seen) != 100 || seen[0].Name != "form" || seen[0].Local || seen[0].Err == nil || !seen[1].Local || seen[1].Key == "" {
			t.Errorf("%d runs were traced, the first are %+v; want 100, of the guards form and order in turn", len(seen), seen[:min(2, len(seen))])
		}
		if n := strings.Count(log.String(), "running unguarded"); n < 1 || n > 5 {
			t.Errorf("%d lines about unguarded runs, want a few:\n%s", n, log.String())
		}
		if n := strings.Count(log.String(), "guarded by this process alone"); n < 1 || n > 5 {
			t.Errorf("%d lines about local runs, want a few:\n%s", n, log.String())
		}
		w.engine.Heal()
		ok(t, open.Close(t.Context()))
		ok(t, local.Close(t.Context()))
		ok(t, client.Close(t.Context()))
	}},
	{"a caller that gives up does not mark the engine as down", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Form("form")), work("a", 0)
		giveUp := func() {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := g.Do(ctx, key, j.do)
			wantErr(t, err, context.DeadlineExceeded)
		}
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Hang, Times: 1})
		giveUp()
		do(t, g, guard.Of("bob", "1"), j, "a")
		if n := g.Stats().Verdicts[guard.Unguarded]; n != 0 {
			t.Error("work ran unguarded because another caller gave up")
		}
	}},
	{"with Open, only the first of many calls waits for an engine that is down", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Form("form")), work("a", 0)
		failEngine(w)
		do(t, g, key, j, "a")
		start := time.Now()
		for i := range 100 {
			do(t, g, guard.Of("ann", string(rune('a'+i))), j, "a")
		}
		if d := time.Since(start); d > time.Millisecond {
			t.Errorf("a hundred calls took %v, want no wait", d)
		}
		w.engine.Heal()
		time.Sleep(guard.DefaultLocalCache)
		before := g.Stats().Verdicts[guard.Unguarded]
		do(t, g, key, j, "a")
		refused(t, g, key, j)
		do(t, g, guard.Of("bob", "1"), j, "a")
		if n := g.Stats().Verdicts[guard.Unguarded] - before; n != 0 {
			t.Errorf("%d calls ran unguarded after the engine recovered, want none", n)
		}
	}},
	{"with Local, this process guards by itself until the engine is back", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDown: guard.Local}
		g, otherProcess, j := process[string](t, w, p), process[string](t, w, p), work("a", 0)
		failEngine(w)
		do(t, g, key, j, "a")
		time.Sleep(time.Minute)
		do(t, g, key, j, "a")
		j.want(t, 1)
		do(t, otherProcess, key, j, "a")
		j.want(t, 2)
	}},
	{"with Local, this process keeps its outcomes when the engine fails and when it recovers", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDown: guard.Local, OnUnknown: guard.Hold}
		g, j := process[string](t, w, p), work("a", 0)
		before, during, unstored, lost := guard.Of("ann", "1"), guard.Of("ann", "2"), guard.Of("ann", "3"), guard.Of("ann", "4")
		do(t, g, before.For([]byte("x")), j, "a")
		_, c := begin(t, g, unstored)
		_, claim := begin(t, g, lost)
		time.Sleep(time.Second)
		failEngine(w)
		wantErr(t, c.Complete("a"), guard.ErrNotStored)
		do(t, g, during, j, "a")
		time.Sleep(2 * guard.DefaultLease)
		for _, k := range []guard.Key{before, during, unstored} {
			do(t, g, k, j, "a")
		}
		fails(t, g, before.For([]byte("y")), j, guard.ErrMismatch)
		time.Sleep(guard.DefaultLocalCache) // also without a recent call
		fails(t, g, before.For([]byte("y")), j, guard.ErrMismatch)
		wantErr(t, claim.Complete("late"), errLost)
		fails(t, g, lost, j, guard.ErrUnknown)
		w.engine.Heal()
		time.Sleep(time.Second)
		ok(t, on[string](t, w, w.memory, p).Resolve(t.Context(), lost, "by hand"))
		do(t, g, lost, j, "by hand")
		do(t, g, before, j, "a")
		do(t, g, during, j, "a")
		do(t, g, unstored, j, "a")
		j.want(t, 2)
	}},
	{"with Local, the latest outcome counts, not an earlier unknown one or a late result", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDown: guard.Local, OnUnknown: guard.Hold}
		g, otherProcess, j := process[string](t, w, p), on[string](t, w, w.memory, p), work("a", 0)
		doubt, late := guard.Of("ann", "1"), guard.Of("ann", "2")
		_, c := begin(t, g, doubt)
		failEngine(w, enginetest.OpClaimRenew)
		time.Sleep(guard.DefaultLease)
		wantErr(t, c.Complete("late"), errLost)
		ok(t, otherProcess.Forget(t.Context(), doubt))
		do(t, g, doubt, j, "a")
		w.engine.Heal()
		_, c = begin(t, g, late)
		w.memory.Step(2 * guard.DefaultLease)
		ok(t, otherProcess.Resolve(t.Context(), late, "by hand"))
		wantErr(t, c.Complete("late"), errLost)
		time.Sleep(guard.DefaultLocalCache)
		failEngine(w)
		do(t, g, doubt, j, "a")
		do(t, g, late, j, "a")
		j.want(t, 2)
	}},
	{"with Local, a window keeps its length", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "form", After: guard.Window, Window: 20 * time.Second, OnDown: guard.Local}
		g, j := process[string](t, w, p), work("a", 10*time.Second)
		do(t, g, key, j, "a")
		failEngine(w)
		time.Sleep(7 * time.Second) // the call itself takes two more seconds to fail
		refused(t, g, key, j)
		time.Sleep(3 * time.Second)
		do(t, g, key, j, "a")
		j.want(t, 2)
	}},
	{"with Local and Rerun, a waiter takes over a lost claim, and not before its lease expires", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Rerun, OnDown: guard.Local, OnDuplicate: guard.Wait, Wait: time.Minute, MaxHold: guard.DefaultLease}
		for back, k := range map[bool]guard.Key{false: key, true: guard.Of("ann", "2")} {
			g, j := process[string](t, w, p), work("a", 0)
			failEngine(w)
			ctx, c := begin(t, g, k)
			<-ctx.Done()
			if back {
				w.engine.Heal()
				time.Sleep(guard.DefaultLocalCache)
			}
			start := time.Now()
			do(t, g, k, j, "a")
			wantAbout(t, "the wait", time.Since(start), 20*time.Second, 10*time.Second)
			wantErr(t, c.Complete("late"), errLost)
		}
	}},
	{"with Local, decisions of this process last after the engine recovers", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDown: guard.Local, OnUnknown: guard.Hold}
		g, j := process[string](t, w, p), work("a", 0)
		open, unstored := guard.Of("ann", "1"), guard.Of("ann", "2")
		_, c := begin(t, g, unstored)
		failEngine(w)
		wantErr(t, c.Complete("a"), guard.ErrNotStored)
		time.Sleep(guard.DefaultLease)
		w.engine.Heal()
		time.Sleep(time.Second)
		do(t, g, unstored, j, "a") // no other call was made during the outage
		failEngine(w)
		_, _ = g.Do(t.Context(), open, unknownWork["marked"])
		w.engine.Heal()
		time.Sleep(time.Second)
		fails(t, g, open, j, guard.ErrUnknown)
		ok(t, g.Resolve(t.Context(), open, "by hand"))
		do(t, g, open, j, "by hand")
		j.want(t, 0)
	}},
	{"with Local, an outage does not bring back an outcome that an operator settled", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDown: guard.Local, OnUnknown: guard.Hold}
		g, j := process[string](t, w, p), work("a", 0)
		_, c := begin(t, g, key)
		ok(t, c.Abandon())
		ok(t, g.Forget(t.Context(), key))
		failEngine(w)
		do(t, g, key, j, "a")
	}},
	{"with Local, this process remembers a tombstone for a large result", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDown: guard.Local}
		g, j := process[string](t, w, p), work(strings.Repeat("x", 5000), 0)
		do(t, g, key, j, j.result)
		time.Sleep(time.Second)
		failEngine(w)
		wantErr(t, fails(t, g, key, j, guard.ErrNoResult), guard.ErrNoSpace)
		j.want(t, 1)
	}},
	{"a claim whose reply was lost is undone even after a long outage", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", 0)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.LoseReply, Times: 1})
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Refuse})
		failEngine(w, enginetest.OpSettle)
		fails(t, g, key, j, guard.ErrDown)
		time.Sleep(2 * time.Minute)
		w.engine.Heal()
		time.Sleep(2 * time.Second)
		do(t, process[string](t, w, strict), key, j, "a")
	}},
	{"clean-up ends after 15 minutes, and after one lease in a closed guard", func(t *testing.T, w *world) {
		lose := func(k guard.Key) *guard.Guard[string] {
			g := process[string](t, w, guard.Policy{Name: "order", OnUnknown: guard.Hold})
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.LoseReply, Times: 1})
			failEngine(w, enginetest.OpClaim, enginetest.OpSettle)
			fails(t, g, k, work("a", 0), guard.ErrDown)
			return g
		}
		g := lose(key)
		time.Sleep(16 * time.Minute)
		if n := g.Stats().CleanedUp; n != 1 {
			t.Errorf("%d clean-ups ended after 15 minutes, want 1", n)
		}
		w.engine.Heal()
		g, start := lose(guard.Of("ann", "2")), time.Now()
		ok(t, g.Close(context.Background()))
		wantAbout(t, "closing", time.Since(start), guard.DefaultLease, 5*time.Second)
	}},
	{"with Local, work that outlasts its window blocks nothing afterwards", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "form", After: guard.Window, Window: 2 * time.Second, OnDown: guard.Local}
		g, j := process[string](t, w, p), work("a", 3*time.Second)
		do(t, g, key, j, "a")
		failEngine(w)
		do(t, g, key, j, "a")
	}},
	{"with Local, waiting and resolving work within this process", func(t *testing.T, w *world) {
		failEngine(w)
		g, j := process[string](t, w, guard.Policy{Name: "order", OnDown: guard.Local, OnDuplicate: guard.Wait}), work("a", time.Second)
		together(5, func(int) { do(t, g, key, j, "a") })
		j.want(t, 1)
		p := guard.Policy{Name: "pay", OnDown: guard.Local, OnUnknown: guard.Resolve}
		pay := process[string](t, w, p, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", true, nil }))
		_, _ = pay.Do(t.Context(), key, unknownWork["marked"])
		do(t, pay, key, j, "found")
	}},
	{"with Local, the resolver is called during an outage for an earlier unknown outcome", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "pay", OnDown: guard.Local, OnUnknown: guard.Resolve}
		g, j := process[string](t, w, p, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", true, nil })), work("a", 0)
		_, _ = g.Do(t.Context(), key, unknownWork["marked"])
		failEngine(w)
		do(t, g, key, j, "found")
		j.want(t, 0)
	}},
	{"a short outage does not let a waiter run while another process's lease lasts", func(t *testing.T, w *world) {
		for _, down := range []guard.OnDown{guard.Local, guard.Open} {
			p := guard.Policy{Name: "order" + string(down), OnDown: down, OnDuplicate: guard.Wait, Wait: time.Minute}
			g, otherProcess, j := on[string](t, w, w.memory, p), process[string](t, w, p), work("a", 7*time.Second)
			wait := startCall(t, g, key, j)
			waits := startCall(t, otherProcess, key, j)
			failEngine(w)
			time.AfterFunc(6*time.Second, w.engine.Heal)
			if v, err := waits(); err != nil || v != "a" {
				t.Errorf("%s: the waiter got %q, %v; want a", down, v, err)
			}
			_, err := wait()
			ok(t, err)
			j.want(t, 1)
		}
	}},
	{"an engine that refuses a request is not down", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Form("form")), work("a", 0)
		_, c := begin(t, process[string](t, w, guard.Form("form")), key.For([]byte("x")))
		failEngine(w)
		do(t, g, guard.Of("bob", "1"), j, "a")
		w.engine.Heal()
		time.Sleep(guard.DefaultLocalCache)
		fails(t, g, key.For([]byte("y")), j, guard.ErrMismatch)
		before := g.Stats().Verdicts[guard.Unguarded]
		do(t, g, guard.Of("bob", "2"), j, "a")
		if n := g.Stats().Verdicts[guard.Unguarded] - before; n != 0 {
			t.Error("the work ran unguarded although the engine answered")
		}
		ok(t, c.Fail(nil))
	}},
	{"a claim still in transit is undone when another caller holds the key", func(t *testing.T, w *world) {
		g, otherProcess := process[string](t, w, strict), on[string](t, w, w.memory, strict)
		_, c := begin(t, otherProcess, key)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Hang, Times: 1})
		time.AfterFunc(time.Second, w.engine.Heal) // the first try gets no answer, and the second finds the holder
		refused(t, g, key, work("a", 0))
		time.Sleep(time.Second)
		if n := g.Stats().CleanedUp; n != 1 {
			t.Errorf("CleanedUp = %d, want 1", n)
		}
		ok(t, c.Complete("a"))
	}},
	{"with Local, a local claim is renewed", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDown: guard.Local, LocalCache: time.Millisecond}
		g, j := process[string](t, w, p), work("a", 5*time.Minute)
		failEngine(w)
		wait := startCall(t, g, key, j)
		time.Sleep(4 * time.Minute)
		refused(t, g, key, j)
		v, err := wait()
		if err != nil || v != "a" {
			t.Errorf("the running call got %q, %v; want a", v, err)
		}
		j.want(t, 1)
	}},
	{"a result that cannot be stored is returned, and stored when the engine recovers", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		failEngine(w, enginetest.OpSettle)
		start := time.Now()
		do(t, g, key, j, "a")
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("Do returned after %v, want at most 2s", d)
		}
		if n := g.Stats().Endings[guard.NotStored]; n != 1 {
			t.Errorf("%d results were not stored, want 1", n)
		}
		do(t, g, key, j, "a") // this process has the result
		time.Sleep(5 * time.Second)
		w.engine.Heal()
		time.Sleep(2 * time.Second)
		do(t, process[string](t, w, order), key, j, "a")
		if n := g.Stats().Endings[guard.StoredLate]; n != 1 {
			t.Errorf("%d results were stored late, want 1", n)
		}
		j.want(t, 1)
	}},
	{"Complete reports a result that was not stored", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		_, c := begin(t, g, key)
		failEngine(w, enginetest.OpSettle)
		wantErr(t, c.Complete("a"), guard.ErrNotStored)
	}},
	{"a result that is never stored is an unknown outcome", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", 0)
		failEngine(w, enginetest.OpSettle, enginetest.OpClaimRenew)
		do(t, g, key, j, "a")
		time.Sleep(2 * guard.DefaultLease)
		fails(t, process[string](t, w, strict), key, j, guard.ErrUnknown)
		j.want(t, 1)
	}},
	{"a claim whose reply was lost is undone and leaves no unknown outcome", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", 0)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.LoseReply})
		fails(t, g, key, j, guard.ErrDown)
		w.engine.Heal()
		time.Sleep(time.Second)
		do(t, process[string](t, w, strict), key, j, "a")
		j.want(t, 1)
		if n := g.Stats().CleanedUp; n != 1 {
			t.Errorf("CleanedUp = %d, want 1", n)
		}
	}},
	{"a claim that arrives after its caller gave up is not granted", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", 0)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Delay, After: 10 * time.Second, Times: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := g.Do(ctx, key, j.do)
		wantErr(t, err, context.DeadlineExceeded)
		time.Sleep(20 * time.Second)
		do(t, process[string](t, w, strict), key, j, "a")
		j.want(t, 1)
	}},
	{"a claim that the engine grants after it was abandoned is abandoned again", func(t *testing.T, w *world) {
		late := &laggard{Ledger: w.memory.Capabilities().Ledger}
		g, j := on[string](t, w, lagging{w.memory, late}, strict), work("a", 0)
		fails(t, g, key, j, guard.ErrDown)
		time.Sleep(6 * time.Second)
		do(t, process[string](t, w, strict), key, j, "a")
		if n := g.Stats().CleanedUp; n != 1 {
			t.Errorf("CleanedUp = %d, want 1", n)
		}
	}},
	{"a full engine refuses the work", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Refuse, Err: engine.ErrFull, Times: 1})
		wantErr(t, fails(t, g, key, j, guard.ErrDown), engine.ErrFull)
		j.want(t, 0)
	}},
	{"if the engine has no space for a result, it stores a tombstone", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpSettle, Do: enginetest.Refuse, Err: engine.ErrFull, Times: 1})
		do(t, g, key, j, "a")
		wantErr(t, fails(t, process[string](t, w, order), key, j, guard.ErrNoResult), guard.ErrNoSpace)
		j.want(t, 1)
	}},
	{"concurrent calls fail together if the engine is down", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		failEngine(w)
		start := time.Now()
		together(50, func(int) { fails(t, g, key, j, guard.ErrDown) })
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("fifty calls failed after %v, want at most 2s", d)
		}
	}},
	{"an invalid reply of the engine does not let the work run", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Form("form")), work("a", 0)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Refuse, Err: engine.ErrKind, Times: 1})
		fails(t, g, key, j, engine.ErrKind)
		j.want(t, 0)
	}},
}

// lagging is an engine with a LateGrant, and a ledger that uses it.
type lagging struct {
	engine.Engine
	ledger *laggard
}

func (l lagging) Capabilities() engine.Capabilities {
	c := l.Engine.Capabilities()
	c.Ledger, c.InProcess, c.LateGrant = l.ledger, false, 5*time.Second
	return c
}

// A laggard never answers a claim, and grants the last one when it is abandoned.
type laggard struct {
	engine.Ledger
	last *engine.Claim
}

func (l *laggard) Claim(_ context.Context, c engine.Claim) (engine.Record, error) {
	l.last = &c
	return engine.Record{}, engine.ErrUnknown
}

func (l *laggard) Settle(ctx context.Context, s engine.Settlement) (engine.Outcome, error) {
	if l.last == nil {
		return l.Ledger.Settle(ctx, s)
	}
	_, err := l.Ledger.Claim(ctx, *l.last)
	l.last = nil
	return engine.AlreadyFree, err
}

// twoNodes is an engine whose keys are on two nodes, of which one can be down.
type twoNodes struct {
	engine.Engine
	down atomic.Bool
}

func (e *twoNodes) Capabilities() engine.Capabilities {
	c := e.Engine.Capabilities()
	c.Node, c.Ledger = e.node, nodeLedger{c.Ledger, e}
	return c
}

func (e *twoNodes) node(key string) string {
	if key[len(key)-1]%2 == 0 {
		return "down"
	}
	return "up"
}

// A nodeLedger fails the claims and lookups of the node that is down.
type nodeLedger struct {
	engine.Ledger
	nodes *twoNodes
}

func (l nodeLedger) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	if l.nodes.down.Load() && l.nodes.node(c.Key) == "down" {
		return engine.Record{}, engine.ErrUnavailable
	}
	return l.Ledger.Claim(ctx, c)
}

func (l nodeLedger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	if l.nodes.down.Load() && l.nodes.node(key) == "down" {
		return engine.Record{}, engine.ErrUnavailable
	}
	return l.Ledger.Lookup(ctx, key)
}
