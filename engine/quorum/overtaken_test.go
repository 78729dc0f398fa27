package quorum_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/quorum"
)

// TestOvertaken checks requests that reach a slow node after the lock was released.
func TestOvertaken(t *testing.T) {
	bubble(t, "a lock released before a slow node granted it is not granted there", func(t *testing.T) {
		all, nodes := servers(3)
		e := newQuorum(t, nodes)
		all[2].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 2 * time.Second, Times: 1})
		r := request("ann")
		if _, err := e.Acquire(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		released(t, e, r)
		time.Sleep(5 * time.Second)
		if h := holder(t, all[2].inner.now()); h != "" {
			t.Errorf("%s has the lock at the slow node", h)
		}
	})
	bubble(t, "a lock released while a slow node raises its fence is released there, too", func(t *testing.T) {
		all, nodes := servers(3)
		e := newQuorum(t, nodes)
		all[0].inner.Engine.(*memory.Engine).Step(time.Second) // so that the others are raised
		all[2].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 400 * time.Millisecond, Times: 1})
		all[2].Inject(enginetest.Fault{Op: enginetest.OpRaise, Do: enginetest.Delay, After: 400 * time.Millisecond, Times: 1})
		r := fenced(request("ann"))
		if _, err := e.Acquire(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		released(t, e, r)
		time.Sleep(5 * time.Second)
		if h := holder(t, all[2].inner.now()); h != "" {
			t.Errorf("%s has the lock at the slow node", h)
		}
	})
	bubble(t, "a hold released while a slow node restores it is released there, too", func(t *testing.T) {
		all, nodes := servers(3)
		e := newQuorum(t, nodes)
		r := request("ann")
		granted(t, e, r)
		all[2].reboot()
		all[2].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 2 * time.Second, Times: 1})
		renewed(t, e, r, nil)
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		released(t, e, r)
		time.Sleep(5 * time.Second)
		if h := holder(t, all[2].inner.now()); h != "" {
			t.Errorf("%s has the lock at the slow node", h)
		}
	})
}

// TestWakingAfterOutages checks nodes that missed notifications.
func TestWakingAfterOutages(t *testing.T) {
	bubble(t, "nodes that missed many notifications count again soon", func(t *testing.T) {
		all := make([]*enginetest.Faulty, 5)
		nodes := memoryNodes(5)
		for i := range nodes {
			all[i] = enginetest.NewFaulty(nodes[i])
			nodes[i] = all[i]
		}
		e := newQuorum(t, nodes, quorum.Durable())
		wake, stop := e.Capabilities().Notifier.Notify(request("bob"))
		defer stop()
		synctest.Wait()
		<-wake
		notified := func() bool {
			r := request("ann")
			granted(t, e, r)
			released(t, e, r)
			synctest.Wait()
			select {
			case <-wake:
				return true
			default:
				return false
			}
		}
		mute := func(fs []*enginetest.Faulty) {
			for _, f := range fs {
				f.Inject(enginetest.Fault{Op: enginetest.OpNotify, Do: enginetest.Mute})
			}
		}
		mute(all[3:])
		for range 10 {
			if !notified() {
				t.Fatal("three of five nodes notified, and the waiter was not")
			}
		}
		for _, f := range all[3:] {
			f.Heal()
		}
		mute(all[:2])
		notified() // the healed nodes may still be behind in the first round
		for range 3 {
			if !notified() {
				t.Fatal("two healed nodes and a third one notified, and the waiter was not")
			}
		}
	})
}
