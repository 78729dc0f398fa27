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
		e := join(t, nodes)
		all[2].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 2 * time.Second, Times: 1})
		asked := ask("ann")
		if _, err := e.Acquire(context.Background(), asked); err != nil {
			t.Fatal(err)
		}
		released(t, e, asked)
		time.Sleep(5 * time.Second)
		if h := holder(t, all[2].inner.now()); h != "" {
			t.Errorf("%s has the lock at the slow node", h)
		}
	})
	bubble(t, "a lock released while a slow node raised its fence ends there, too", func(t *testing.T) {
		all, nodes := servers(3)
		e := join(t, nodes)
		all[0].inner.Engine.(*memory.Engine).Step(time.Second) // so that the others are raised
		all[2].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 400 * time.Millisecond, Times: 1})
		all[2].Inject(enginetest.Fault{Op: enginetest.OpRaise, Do: enginetest.Delay, After: 400 * time.Millisecond, Times: 1})
		asked := fenced(ask("ann"))
		if _, err := e.Acquire(context.Background(), asked); err != nil {
			t.Fatal(err)
		}
		released(t, e, asked)
		time.Sleep(5 * time.Second)
		if h := holder(t, all[2].inner.now()); h != "" {
			t.Errorf("%s has the lock at the slow node", h)
		}
	})
	bubble(t, "a hold restored at a slow node ends there with its release", func(t *testing.T) {
		all, nodes := servers(3)
		e := join(t, nodes)
		asked := ask("ann")
		granted(t, e, asked)
		all[2].reboot()
		all[2].Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 2 * time.Second, Times: 1})
		renewed(t, e, asked, nil)
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		released(t, e, asked)
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
		nodes := memories(5)
		for i := range nodes {
			all[i] = enginetest.NewFaulty(nodes[i])
			nodes[i] = all[i]
		}
		e := join(t, nodes, quorum.Durable())
		wake, stop := e.Capabilities().Notifier.Notify(ask("bob"))
		defer stop()
		synctest.Wait()
		<-wake
		tells := func() bool {
			r := ask("ann")
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
			if !tells() {
				t.Fatal("three of five are not enough")
			}
		}
		for _, f := range all[3:] {
			f.Heal()
		}
		mute(all[:2])
		tells() // those who were away may be late with what others have told
		for range 3 {
			if !tells() {
				t.Fatal("three others of the five are not enough")
			}
		}
	})
}
