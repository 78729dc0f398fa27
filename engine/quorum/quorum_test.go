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
		if _, err := quorum.New(memoryNodes(n)); err == nil || !strings.Contains(err.Error(), "use three or five") {
			t.Errorf("New with %d engines: %v, want the advice to use three or five", n, err)
		}
	}
	if _, err := quorum.New([]engine.Engine{memory.New(), nil, memory.New()}); err == nil {
		t.Error("New accepts a nil engine")
	}
}

func TestMinorityDown(t *testing.T) {
	bubble(t, "T11 with two of five nodes down everything works without delay", func(t *testing.T) {
		for _, fail := range []func(*server){(*server).die, (*server).hang} {
			all, nodes := servers(5)
			e := newQuorum(t, nodes)
			fail(all[0])
			fail(all[3])
			start := time.Now()
			a := fenced(request("ann"))
			granted(t, e, a)
			busy(t, e, request("bob"))
			renewed(t, e, a, nil)
			released(t, e, a)
			b := request("bob")
			granted(t, e, b)
			released(t, e, b)
			if d := time.Since(start); d > 0 {
				t.Errorf("two nodes that are down delayed the calls by %v, want no delay", d)
			}
			all[0].Heal()
			all[3].Heal()
		}
	})
	bubble(t, "T11 a holder keeps its lock when two of five nodes die, and loses it when three do", func(t *testing.T) {
		all, nodes := servers(5)
		e, a := newQuorum(t, nodes), request("ann")
		granted(t, e, a)
		kill(all, 2)
		renewed(t, e, a, nil)
		kill(all, 3)
		renewed(t, e, a, engine.ErrUnknown)
		err := refused(t, e, request("bob"), engine.ErrUnavailable)
		if !strings.Contains(err.Error(), "node 1") {
			t.Errorf("err = %v, want it to name node 1", err)
		}
		if _, err := e.Release(context.Background(), a); !errors.Is(err, engine.ErrUnknown) {
			t.Errorf("release: %v, want %v", err, engine.ErrUnknown)
		}
	})
	bubble(t, "split votes leave no partial grants", func(t *testing.T) {
		all, nodes := servers(5)
		e := newQuorum(t, nodes)
		kill(all, 3)
		refused(t, e, request("ann"), engine.ErrUnavailable)
		for _, s := range all {
			s.Heal()
		}
		for i, s := range all {
			if h := holder(t, s.inner); h != "" {
				t.Errorf("node %d is still held by %s", i+1, h)
			}
		}
		granted(t, e, request("bob"))
	})
	bubble(t, "a grant that arrives after a lost vote is released", func(t *testing.T) {
		all, nodes := servers(5)
		e := newQuorum(t, nodes)
		kill(all, 3)
		all[3].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 100 * time.Millisecond, Times: 1})
		refused(t, e, request("ann"), engine.ErrUnavailable)
		time.Sleep(lease / 10)
		if h := holder(t, all[3].inner); h != "" {
			t.Errorf("node 4 is held by %s", h)
		}
	})
	bubble(t, "a grant that arrives after a won vote belongs to the hold", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := newQuorum(t, nodes), request("ann")
		all[2].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 100 * time.Millisecond, Times: 1})
		granted(t, e, a)
		released(t, e, a) // does not overtake the delayed acquisition
		time.Sleep(time.Second)
		if h := holder(t, all[2].inner); h != "" {
			t.Errorf("node 3 is still held by %s", h)
		}
	})
	bubble(t, "an attempt that may still reach a node is abandoned there", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := newQuorum(t, nodes), request("ann")
		all[2].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 2 * time.Second, Times: 1})
		granted(t, e, a)
		time.Sleep(time.Second) // the call has timed out, and its request may still arrive
		released(t, e, a)
		time.Sleep(2 * time.Second)
		all[2].Wait()
		if h := holder(t, all[2].inner); h != "" {
			t.Errorf("node 3 is held by %s", h)
		}
	})
	bubble(t, "a node that lost a hold of the majority gets it again", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := newQuorum(t, nodes), fenced(request("ann"))
		g := granted(t, e, a)
		time.Sleep(time.Second)
		all[1].reboot()
		renewed(t, e, a, nil)
		synctest.Wait()
		if h := holder(t, all[1].inner); h != a.Holder {
			t.Errorf("node 2 is held by %q, want %q", h, a.Holder)
		}
		kill(all, 1)
		renewed(t, e, a, nil) // node 2 has the hold again, so its renewal counts
		if got := granted(t, e, repeated(a)); got != g {
			t.Errorf("the repeated attempt got %+v, want %+v as before", got, g)
		}
	})
	bubble(t, "a hold that the majority lost is not restored", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := newQuorum(t, nodes), request("ann")
		granted(t, e, a)
		all[0].reboot()
		all[1].reboot()
		renewed(t, e, a, engine.ErrNotHolder)
		synctest.Wait()
		if h := holder(t, all[0].inner); h != "" {
			t.Errorf("node 1 is held by %q, want no holder", h)
		}
	})
}

func TestProbation(t *testing.T) {
	bubble(t, "T11 a restarted node gives no second grant", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := newQuorum(t, nodes), request("ann")
		all[2].die()
		granted(t, e, a) // by nodes 1 and 2
		all[2].Heal()
		all[1].reboot()
		otherQuorum := newQuorum(t, nodes) // another process
		busy(t, otherQuorum, request("bob"))
		busy(t, e, request("bob"))
		renewed(t, e, a, engine.ErrNotHolder)
		time.Sleep(time.Minute + time.Second)
		granted(t, otherQuorum, request("bob"))
	})
	bubble(t, "without probation a lock would have two holders", func(t *testing.T) {
		all, nodes := servers(3)
		e := newQuorum(t, nodes, quorum.Durable())
		all[2].die()
		granted(t, e, request("ann"))
		all[2].Heal()
		all[1].reboot()
		granted(t, e, request("bob"))
	})
	bubble(t, "new nodes count after the longest lease", func(t *testing.T) {
		e := newQuorum(t, memoryNodes(3), quorum.LongestLease(20*time.Second))
		err := refused(t, e, request("ann"), engine.ErrUnavailable)
		if !strings.Contains(err.Error(), "were restarted") {
			t.Errorf("err = %v, want it to say that the nodes were restarted", err)
		}
		time.Sleep(20 * time.Second)
		refused(t, e, request("ann"), engine.ErrUnavailable) // probation lasts a little longer, because clocks drift
		time.Sleep(time.Second)
		granted(t, e, request("ann"))
	})
	bubble(t, "a node that does not report its incarnation does not count", func(t *testing.T) {
		all, nodes := servers(3)
		e := newQuorum(t, nodes)
		for _, s := range all[:2] {
			s.Inject(enginetest.Fault{Op: enginetest.OpIncarnation, Do: enginetest.Refuse, Times: 1})
		}
		refused(t, e, request("ann"), engine.ErrUnavailable)
		granted(t, e, request("ann"))
	})
	bubble(t, "a node is asked for its incarnation once per connection", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := newQuorum(t, nodes), request("ann")
		for range 10 {
			granted(t, e, a)
			released(t, e, a)
		}
		synctest.Wait()
		if n := all[0].Calls(enginetest.OpIncarnation); n != 1 {
			t.Errorf("node 1 was asked for its incarnation %d times, want once", n)
		}
	})
	bubble(t, "a lease longer than LongestLease is refused", func(t *testing.T) {
		_, nodes := servers(3)
		e, a := newQuorum(t, nodes), request("ann")
		a.Lease = time.Minute + 1
		if most := e.Capabilities().LongestLease; most != time.Minute {
			t.Errorf("Capabilities().LongestLease = %v, want %v", most, time.Minute)
		}
		for _, err := range []error{errorOf(e.Acquire(context.Background(), a)), e.Renew(context.Background(), []engine.Request{a})[0]} {
			if err == nil || engine.Temporary(err) || !strings.Contains(err.Error(), "LongestLease") {
				t.Errorf("err = %v, want a final error that names LongestLease", err)
			}
		}
	})
}

func TestTimeouts(t *testing.T) {
	bubble(t, "a grant with too little of its lease left is released", func(t *testing.T) {
		nodes := memoryNodes(3)
		for i := range nodes {
			nodes[i] = slow{nodes[i], lease * 9 / 10}
		}
		e := newQuorum(t, nodes, quorum.Durable())
		err := refused(t, e, request("ann"), engine.ErrUnavailable)
		if !strings.Contains(err.Error(), "too little of the lease is left") {
			t.Errorf("err = %v, want it to say that too little of the lease is left", err)
		}
		for i := range nodes {
			if h := holder(t, nodes[i]); h != "" {
				t.Errorf("node %d is held by %s", i+1, h)
			}
		}
	})
	bubble(t, "a node has a tenth of the lease to answer", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := newQuorum(t, nodes), request("ann")
		a.Lease = time.Second
		all[0].hang()
		all[1].hang()
		start := time.Now()
		refused(t, e, a, engine.ErrUnknown)
		if d := time.Since(start); d != 100*time.Millisecond {
			t.Errorf("the refusal took %v, want a tenth of %v", d, a.Lease)
		}
	})
	bubble(t, "a cancelled acquisition returns at once and leaves nothing", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := newQuorum(t, nodes), request("ann")
		all[0].hang()
		all[1].hang()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := e.Acquire(ctx, a)
		if d := time.Since(start); d != 50*time.Millisecond || !errors.Is(err, engine.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire returned %v after %v, want ErrUnknown and DeadlineExceeded after 50ms", err, d)
		}
		synctest.Wait()
		if h := holder(t, all[2].inner); h != "" {
			t.Errorf("node 3 is held by %s", h)
		}
	})
	bubble(t, "a closed quorum refuses calls and runs nothing", func(t *testing.T) {
		all, nodes := servers(3)
		e, a := newQuorum(t, nodes), request("ann")
		all[0].hang()
		granted(t, e, a)
		_ = e.Close()
		refused(t, e, request("bob"), engine.ErrClosed)
		renewed(t, e, a, engine.ErrClosed)
	})
}

func TestFence(t *testing.T) {
	bubble(t, "T11 fences rise whichever majority grants the lock, whatever their clocks say", func(t *testing.T) {
		all, nodes := servers(5)
		for i, s := range all {
			s.inner.Engine.(*memory.Engine).Step(time.Duration(i) * time.Minute)
		}
		e, last := newQuorum(t, nodes), uint64(0)
		for turn := range 40 {
			down := []*server{all[turn%5], all[(turn+1+turn%3)%5]}
			for _, s := range down {
				s.die()
			}
			r := fenced(request(name(turn)))
			g := granted(t, e, r)
			if g.Fence <= last {
				t.Fatalf("grant %d has fence %d, want one above %d", turn, g.Fence, last)
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
		e := newQuorum(t, nodes)
		for i, s := range all {
			s.inner.Engine.(*memory.Engine).Step(time.Duration(i) * time.Minute)
			s.Inject(enginetest.Fault{Op: enginetest.OpRaise, Do: enginetest.Refuse})
		}
		all[2].die() // its clock is ahead, so its fence would need no raise
		refused(t, e, fenced(request("ann")), engine.ErrUnavailable)
		for i, s := range all {
			if h := holder(t, s.inner); h != "" {
				t.Errorf("node %d is held by %s", i+1, h)
			}
			s.Heal()
		}
		granted(t, e, fenced(request("ann")))
	})
	bubble(t, "a repeated attempt keeps its fence when other nodes answer", func(t *testing.T) {
		all, nodes := servers(5)
		for i, s := range all {
			s.inner.Engine.(*memory.Engine).Step(time.Duration(i) * time.Minute)
		}
		e := newQuorum(t, nodes)
		for _, r := range []engine.Request{request("ann"), fenced(request("ann"))} {
			r.Key = r.Attempt
			all[3].hang()
			all[4].hang()
			first := granted(t, e, r)
			all[3].Heal()
			all[4].Heal()
			time.Sleep(time.Second)
			renewed(t, e, r, nil) // nodes 4 and 5 get the hold, each with a fence of its own
			time.Sleep(time.Second)
			kill(all, 2)
			if got := granted(t, e, repeated(r)); got.Fence != first.Fence {
				t.Errorf("the repeated attempt got fence %d, want %d as before", got.Fence, first.Fence)
			}
			all[0].Heal()
			all[1].Heal()
		}
	})
	bubble(t, "engines without a Fencer grant no fenced locks", func(t *testing.T) {
		nodes := memoryNodes(3)
		nodes[1] = plain{nodes[1]}
		e := newQuorum(t, nodes, quorum.Durable())
		refused(t, e, fenced(request("ann")), errors.ErrUnsupported)
		granted(t, e, request("ann"))
	})
}

func TestProbe(t *testing.T) {
	bubble(t, "a probe reports nodes that are down or on probation, and how many more may fail", func(t *testing.T) {
		all, nodes := servers(5)
		e := newQuorum(t, nodes)
		probe := func() string {
			h, err := e.Capabilities().Prober.Probe(context.Background())
			if err != nil || h.Topology != engine.Quorum || len(h.Parts) != 5 {
				t.Fatalf("Probe = %+v, %v; want a quorum of 5 parts", h, err)
			}
			return strings.Join(h.Notices, "; ")
		}
		if n := probe(); n != "" {
			t.Errorf("notices = %q, want none", n)
		}
		all[1].die()
		all[1].reboot() // so that the probe asks it again
		if n := probe(); !strings.Contains(n, "node 2 does not answer") {
			t.Errorf("notices = %q, want one that node 2 does not answer", n)
		}
		all[2].reboot()
		if n := probe(); !strings.Contains(n, "node 3 was restarted and does not count for another 1m1s") || !strings.Contains(n, "one more failure") {
			t.Errorf("notices = %q, want that node 3 was restarted, and that one more failure stops all locks", n)
		}
		all[3].reboot()
		if n := probe(); !strings.Contains(n, "no lock is granted") {
			t.Errorf("notices = %q, want that no lock is granted", n)
		}
	})
}

func errorOf[T any](_ T, err error) error { return err }

// slow sleeps before it grants, as if the process had been paused.
type slow struct {
	engine.Engine
	d time.Duration
}

func (s slow) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	time.Sleep(s.d)
	return s.Engine.Acquire(context.WithoutCancel(ctx), r)
}

// plain is an engine without capabilities.
type plain struct{ engine.Engine }

func (plain) Capabilities() engine.Capabilities { return engine.Capabilities{} }
