package guard_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
)

// inProcessLaws are laws of guards on an in-process engine that is full.
var inProcessLaws = []law{
	{"with Local, work completed while an in-process engine was full does not run again later", func(t *testing.T, w *world) {
		for _, duplicate := range []guard.OnDuplicate{guard.Replay, guard.Wait, guard.Refuse} {
			m := memory.New(memory.MaxKeys(1))
			p := guard.Policy{Name: "order", OnDown: guard.Local, OnDuplicate: duplicate}
			g, j := on[string](t, w, m, p), work("a", 0)
			_, c := begin(t, g, guard.Of("ann", "fills the engine"))
			do(t, g, key, j, "a") // the engine is full, so this process guards by itself
			ok(t, c.Free())
			time.Sleep(time.Second) // then the guard asks the engine again
			if _, err := g.Do(t.Context(), key, j.do); duplicate == guard.Refuse {
				wantErr(t, err, guard.ErrDuplicate)
			} else {
				ok(t, err)
			}
			j.want(t, 1)
		}
	}},
	{"with Local, work that started while an in-process engine was full is not started a second time", func(t *testing.T, w *world) {
		m := memory.New(memory.MaxKeys(1))
		g, j := on[string](t, w, m, guard.Policy{Name: "order", OnDown: guard.Local}), work("a", time.Minute)
		_, c := begin(t, g, guard.Of("ann", "fills the engine"))
		wait := startCall(t, g, key, j)
		ok(t, c.Free())
		time.Sleep(time.Second)
		refused(t, g, key, j)
		_, err := wait()
		ok(t, err)
		j.want(t, 1)
	}},
	{"running work is not started again because an in-process engine is full", func(t *testing.T, w *world) {
		for _, down := range []guard.OnDown{guard.Local, guard.Open, guard.Closed} {
			m := memory.New(memory.MaxKeys(1))
			g, j := on[string](t, w, m, guard.Policy{Name: "order", OnDown: down}), work("a", time.Minute)
			wait := startCall(t, g, key, j)
			_, _ = g.Do(t.Context(), guard.Of("ann", "2"), work("b", 0).do) // the engine is full
			refused(t, g, key, j)
			_, err := wait()
			ok(t, err)
			j.want(t, 1)
		}
	}},
	{"completed work does not run again because an in-process engine is full", func(t *testing.T, w *world) {
		for _, down := range []guard.OnDown{guard.Local, guard.Open, guard.Closed} {
			m := memory.New(memory.MaxKeys(1))
			g, j := on[string](t, w, m, guard.Policy{Name: "order", OnDown: down}), work("a", 0)
			do(t, g, key, j, "a")
			for range 3 {
				_, _ = g.Do(t.Context(), guard.Of("ann", "2"), work("b", 0).do) // the engine is full
				do(t, g, key, j, "a")
				time.Sleep(time.Second)
			}
			j.want(t, 1)
		}
	}},
}
