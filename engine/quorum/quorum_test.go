package quorum_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/quorum"
)

// T11, node by node: failures of a minority, and the loss of a majority. R2's mutual
// exclusion is in random_test.go.

// bubble runs a test in virtual time.
func bubble(t *testing.T, sentence string, f func(t *testing.T)) {
	t.Helper()
	t.Run(sentence, func(t *testing.T) { synctest.Test(t, f) })
}

func TestNew(t *testing.T) {
	for n := range 3 {
		if _, err := quorum.New(memories(n)); err == nil || !strings.Contains(err.Error(), "use three or five") {
			t.Errorf("%d engines: %v, want an error that says what to do", n, err)
		}
	}
	if _, err := quorum.New([]engine.Engine{memory.New(), nil, memory.New()}); err == nil {
		t.Error("no engine at all is taken for one")
	}
}

func TestMinorityDown(t *testing.T) {
	bubble(t, "T11 with two of five nodes down everything works without delay", func(t *testing.T) {
		for _, fail := range []func(*server){(*server).die, (*server).hang} {
			all, nodes := servers(5)
			e := join(t, nodes)
			fail(all[0])
			fail(all[3])
			start := time.Now()
			a := fenced(ask("ann"))
			granted(t, e, a)
			busy(t, e, ask("bob"))
			renewed(t, e, a, nil)
			released(t, e, a)
			b := ask("bob")
			granted(t, e, b)
			released(t, e, b)
			if d := time.Since(start); d > 0 {
				t.Errorf("it took %v to do without two nodes", d)
			}
			all[0].Heal()
			all[3].Heal()
		}
	})
	bubble(t, "T11 a holder keeps its lock when two of five nodes die, and loses it when three do", func(t *testing.T) {
		all, nodes := servers(5)
		e, a := join(t, nodes), ask("ann")
		granted(t, e, a)
		kill(all, 2)
		renewed(t, e, a, nil)
		kill(all, 3)
		renewed(t, e, a, engine.ErrUnknown)
		err := refused(t, e, ask("bob"), engine.ErrUnavailable)
		if !strings.Contains(err.Error(), "node 1") {
			t.Errorf("%v, want one that names the nodes", err)
		}
		if _, err := e.Release(context.Background(), a); !errors.Is(err, engine.ErrUnknown) {
			t.Errorf("release: %v, want %v", err, engine.ErrUnknown)
		}
	})
	bubble(t, "split votes leave no partial grants", func(t *testing.T) {
		all, nodes := servers(5)
		e := join(t, nodes)
		kill(all, 3)
		refused(t, e, ask("ann"), engine.ErrUnavailable)
		for _, s := range all {
			s.Heal()
		}
		for i, s := range all {
			if by := holder(t, s.inner); by != "" {
				t.Errorf("node %d is still held by %s", i+1, by)
			}
		}
		granted(t, e, ask("bob"))
	})
	bubble(t, "a grant that comes after a lost vote is released", func(t *testing.T) {
		all, nodes := servers(5)
		e := join(t, nodes)
		kill(all, 3)
		all[3].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 100 * time.Millisecond, Times: 1})
		refused(t, e, ask("ann"), engine.ErrUnavailable)
		time.Sleep(lease / 10)
		if by := holder(t, all[3].inner); by != "" {
			t.Errorf("node 4 is held by %s", by)
		}
	})
	bubble(t, "a grant that comes after a won vote belongs to the hold", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := join(t, nodes), ask("ann")
		all[2].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 100 * time.Millisecond, Times: 1})
		granted(t, e, a)
		released(t, e, a) // overtakes nothing
		time.Sleep(time.Second)
		if by := holder(t, all[2].inner); by != "" {
			t.Errorf("node 3 is still held by %s", by)
		}
	})
	bubble(t, "an attempt that may still reach a node is abandoned there", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := join(t, nodes), ask("ann")
		all[2].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 2 * time.Second, Times: 1})
		granted(t, e, a)
		time.Sleep(time.Second) // the bound is over, and the attempt is on its way
		released(t, e, a)
		time.Sleep(2 * time.Second)
		all[2].Wait()
		if by := holder(t, all[2].inner); by != "" {
			t.Errorf("node 3 is held by %s", by)
		}
	})
	bubble(t, "a node that lost a hold of the majority gets it again", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := join(t, nodes), fenced(ask("ann"))
		g := granted(t, e, a)
		time.Sleep(time.Second)
		all[1].reboot()
		renewed(t, e, a, nil)
		synctest.Wait()
		if by := holder(t, all[1].inner); by != a.Holder {
			t.Errorf("node 2 is held by %q", by)
		}
		kill(all, 1)
		renewed(t, e, a, nil) // it remembers the hold, so it counts for that
		if got := granted(t, e, repeated(a)); got != g {
			t.Errorf("got %+v after %+v", got, g)
		}
	})
	bubble(t, "a hold that the majority lost is not restored", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := join(t, nodes), ask("ann")
		granted(t, e, a)
		all[0].reboot()
		all[1].reboot()
		renewed(t, e, a, engine.ErrNotHolder)
		synctest.Wait()
		if by := holder(t, all[0].inner); by != "" {
			t.Errorf("node 1 is held by %q", by)
		}
	})
}

func TestSittingOut(t *testing.T) {
	bubble(t, "T11 a restarted node gives no second grant", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := join(t, nodes), ask("ann")
		all[2].die()
		granted(t, e, a) // by nodes 1 and 2
		all[2].Heal()
		all[1].reboot()
		other := join(t, nodes) // another process
		busy(t, other, ask("bob"))
		busy(t, e, ask("bob"))
		renewed(t, e, a, engine.ErrNotHolder)
		time.Sleep(time.Minute + time.Second)
		granted(t, other, ask("bob"))
	})
	bubble(t, "without probation a lock would have two holders", func(t *testing.T) {
		all, nodes := servers(3)
		e := join(t, nodes, quorum.Durable())
		all[2].die()
		granted(t, e, ask("ann"))
		all[2].Heal()
		all[1].reboot()
		granted(t, e, ask("bob"))
	})
	bubble(t, "nodes that are all new count after the longest lease", func(t *testing.T) {
		e := join(t, memories(3), quorum.LongestLease(20*time.Second))
		err := refused(t, e, ask("ann"), engine.ErrUnavailable)
		if !strings.Contains(err.Error(), "were restarted") {
			t.Errorf("%v, want one that says why", err)
		}
		time.Sleep(20 * time.Second)
		refused(t, e, ask("ann"), engine.ErrUnavailable) // a little more, for the clocks
		time.Sleep(time.Second)
		granted(t, e, ask("ann"))
	})
	bubble(t, "a node that does not report its incarnation does not count", func(t *testing.T) {
		all, nodes := servers(3)
		e := join(t, nodes)
		for _, s := range all[:2] {
			s.Inject(enginetest.Fault{Op: enginetest.OpIncarnation, Do: enginetest.Refuse, Times: 1})
		}
		refused(t, e, ask("ann"), engine.ErrUnavailable)
		granted(t, e, ask("ann"))
	})
	bubble(t, "a node is asked for its incarnation once per connection", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := join(t, nodes), ask("ann")
		for range 10 {
			granted(t, e, a)
			released(t, e, a)
		}
		synctest.Wait()
		if n := all[0].Calls(enginetest.OpIncarnation); n != 1 {
			t.Errorf("it was asked %d times, want once", n)
		}
	})
	bubble(t, "a lease longer than LongestLease is refused", func(t *testing.T) {
		_, nodes := servers(3)
		e, a := join(t, nodes), ask("ann")
		a.Lease = time.Minute + 1
		if most := e.Capabilities().LongestLease; most != time.Minute {
			t.Errorf("the longest lease is said to be %v", most)
		}
		for _, err := range []error{second(e.Acquire(context.Background(), a)), e.Renew(context.Background(), []engine.Request{a})[0]} {
			if err == nil || engine.Temporary(err) || !strings.Contains(err.Error(), "LongestLease") {
				t.Errorf("%v, want one that names the option", err)
			}
		}
	})
}

func TestTime(t *testing.T) {
	bubble(t, "a grant with too little of its lease left is released", func(t *testing.T) {
		nodes := memories(3)
		for i := range nodes {
			nodes[i] = sleepy{nodes[i], lease * 9 / 10}
		}
		e := join(t, nodes, quorum.Durable())
		err := refused(t, e, ask("ann"), engine.ErrUnavailable)
		if !strings.Contains(err.Error(), "too little of the lease is left") {
			t.Errorf("%v, want one that says why", err)
		}
		for i := range nodes {
			if by := holder(t, nodes[i]); by != "" {
				t.Errorf("node %d is held by %s", i+1, by)
			}
		}
	})
	bubble(t, "a node has a tenth of the lease to answer", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := join(t, nodes), ask("ann")
		a.Lease = time.Second
		all[0].hang()
		all[1].hang()
		start := time.Now()
		refused(t, e, a, engine.ErrUnknown)
		if d := time.Since(start); d != 100*time.Millisecond {
			t.Errorf("it took %v, want a tenth of %v", d, a.Lease)
		}
	})
	bubble(t, "a cancelled acquisition returns at once and leaves nothing", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := join(t, nodes), ask("ann")
		all[0].hang()
		all[1].hang()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := e.Acquire(ctx, a)
		if d := time.Since(start); d != 50*time.Millisecond || !errors.Is(err, engine.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v after %v", err, d)
		}
		synctest.Wait()
		if by := holder(t, all[2].inner); by != "" {
			t.Errorf("node 3 is held by %s", by)
		}
	})
	bubble(t, "a closed quorum refuses calls and runs nothing", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := join(t, nodes), ask("ann")
		all[0].hang()
		granted(t, e, a)
		_ = e.Close()
		refused(t, e, ask("bob"), engine.ErrClosed)
		renewed(t, e, a, engine.ErrClosed)
	})
}

func TestFence(t *testing.T) {
	bubble(t, "T11 fences rise whichever majority grants the lock, whatever their clocks say", func(t *testing.T) {
		all, nodes := servers(5)
		for i, s := range all {
			s.inner.Engine.(*memory.Engine).Step(time.Duration(i) * time.Minute)
		}
		e, last := join(t, nodes), uint64(0)
		for turn := range 40 {
			down := []*server{all[turn%5], all[(turn+1+turn%3)%5]}
			for _, s := range down {
				s.die()
			}
			r := fenced(ask(name(turn)))
			g := granted(t, e, r)
			if g.Fence <= last {
				t.Fatalf("turn %d has fence %d after %d", turn, g.Fence, last)
			}
			last = g.Fence + r.FenceReserve
			for _, s := range down {
				s.Heal()
			}
			released(t, e, r)
		}
	})
	bubble(t, "nothing is granted without a majority for the fence", func(t *testing.T) {
		all, nodes := servers(3)
		e := join(t, nodes)
		for i, s := range all {
			s.inner.Engine.(*memory.Engine).Step(time.Duration(i) * time.Minute)
			s.Inject(enginetest.Fault{Op: enginetest.OpRaise, Do: enginetest.Refuse})
		}
		all[2].die() // it would have a higher one, which is as good
		refused(t, e, fenced(ask("ann")), engine.ErrUnavailable)
		for i, s := range all {
			if by := holder(t, s.inner); by != "" {
				t.Errorf("node %d is held by %s", i+1, by)
			}
			s.Heal()
		}
		granted(t, e, fenced(ask("ann")))
	})
	bubble(t, "a repeated attempt keeps its fence when other nodes answer", func(t *testing.T) {
		all, nodes := servers(5)
		for i, s := range all {
			s.inner.Engine.(*memory.Engine).Step(time.Duration(i) * time.Minute)
		}
		e := join(t, nodes)
		for _, r := range []engine.Request{ask("ann"), fenced(ask("ann"))} {
			r.Key = r.Attempt
			all[3].hang()
			all[4].hang()
			first := granted(t, e, r)
			all[3].Heal()
			all[4].Heal()
			time.Sleep(time.Second)
			renewed(t, e, r, nil) // the others learn of it, each with a fence of its own
			time.Sleep(time.Second)
			kill(all, 2)
			if got := granted(t, e, repeated(r)); got.Fence != first.Fence {
				t.Errorf("the fence went from %d to %d", first.Fence, got.Fence)
			}
			all[0].Heal()
			all[1].Heal()
		}
	})
	bubble(t, "engines without a Fencer grant no fenced locks", func(t *testing.T) {
		nodes := memories(3)
		nodes[1] = plain{nodes[1]}
		e := join(t, nodes, quorum.Durable())
		refused(t, e, fenced(ask("ann")), errors.ErrUnsupported)
		granted(t, e, ask("ann"))
	})
}

func TestProbe(t *testing.T) {
	bubble(t, "a probe reports nodes that are down or on probation, and how many more may fail", func(t *testing.T) {
		all, nodes := servers(5)
		e := join(t, nodes)
		probe := func() string {
			h, err := e.Capabilities().Prober.Probe(context.Background())
			if err != nil || h.Topology != engine.Quorum || len(h.Parts) != 5 {
				t.Fatalf("%+v, %v", h, err)
			}
			return strings.Join(h.Notices, "; ")
		}
		if n := probe(); n != "" {
			t.Errorf("told %q, want nothing", n)
		}
		all[1].die()
		all[1].reboot() // so that it is asked
		if n := probe(); !strings.Contains(n, "node 2 does not answer") {
			t.Errorf("told %q", n)
		}
		all[2].reboot()
		if n := probe(); !strings.Contains(n, "node 3 was restarted and does not count for another 1m1s") || !strings.Contains(n, "one more failure") {
			t.Errorf("told %q", n)
		}
		all[3].reboot()
		if n := probe(); !strings.Contains(n, "no lock is granted") {
			t.Errorf("told %q", n)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// sleepy grants late, as if the process had been paused.
type sleepy struct {
	engine.Engine
	d time.Duration
}

func (s sleepy) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	time.Sleep(s.d)
	return s.Engine.Acquire(context.WithoutCancel(ctx), r)
}

// plain is an engine without capabilities.
type plain struct{ engine.Engine }

func (plain) Capabilities() engine.Capabilities { return engine.Capabilities{} }
