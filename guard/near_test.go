package guard_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
)

// nearLaws are about guards on an engine in the same process, which asks it at once.
// The engines of other laws fail on command, and so are none.
var nearLaws = []law{
	{"with local, what was decided while an engine in this process was full is not done again once it has room", func(t *testing.T, w *world) {
		for _, duplicate := range []guard.OnDuplicate{guard.Replay, guard.Wait, guard.Refuse} {
			m := memory.New(memory.MaxKeys(1))
			p := guard.Policy{Name: "order", OnDown: guard.Local, OnDuplicate: duplicate}
			g, j := on[string](t, w, m, p), work("a", 0)
			_, c := begin(t, g, guard.Of("ann", "in the way"))
			do(t, g, key, j, "a") // there is no room: this process decides
			ok(t, c.Free())
			time.Sleep(time.Second) // it is looked again whether the engine is there
			if _, err := g.Do(t.Context(), key, j.do); duplicate == guard.Refuse {
				wantErr(t, err, guard.ErrDuplicate)
			} else {
				ok(t, err)
			}
			j.want(t, 1)
		}
	}},
	{"with local, work that runs since an engine in this process was full is not begun again once it has room", func(t *testing.T, w *world) {
		m := memory.New(memory.MaxKeys(1))
		g, j := on[string](t, w, m, guard.Policy{Name: "order", OnDown: guard.Local}), work("a", time.Minute)
		_, c := begin(t, g, guard.Of("ann", "in the way"))
		wait := begun(t, g, key, j)
		ok(t, c.Free())
		time.Sleep(time.Second)
		refused(t, g, key, j)
		_, err := wait()
		ok(t, err)
		j.want(t, 1)
	}},
	{"what is told in this process stays as it is while others write down their results", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: time.Minute}
		g := on[string](t, w, w.memory, p)
		long := strings.Repeat("a", 100)
		_, c := begin(t, g, key)
		wait := begun(t, g, key, work(long, 0)) // it waits at the desk, and so has a seat
		ok(t, c.Free())
		_, err := wait()
		ok(t, err)
		for i := range 100 {
			do(t, g, guard.Of("ann", string(rune('a'+i))), work(strings.Repeat("b", 100), 0), strings.Repeat("b", 100))
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel() // so that the engine does not answer, and the desk does
		got, err := g.Do(gone, key, work("", 0).do)
		if err != nil || got != long {
			t.Errorf("Do = %q, %v; want what was told", got, err)
		}
		synctest.Wait()
	}},
}
