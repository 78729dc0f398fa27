package guard

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// TestEntriesAreReused checks that an entry is reused only if no waiter can still read
// it. It is inside the package because an early reuse shows outside only as a rare wrong
// count.
func TestEntriesAreReused(t *testing.T) {
	for _, waited := range []bool{false, true} {
		f := newInflight(Policy{LocalCache: time.Second}, newSettings(nil))
		defer f.close()
		now := time.Now()
		first := f.lookup("a", now).entry
		if waited {
			if v := f.lookup("a", now); v.mustClaim || v.entry != first {
				t.Fatal("lookup made the second caller claim as well, want it to wait")
			}
		}
		f.cache(first, engine.Record{State: engine.Done, Left: time.Hour, Result: []byte("1")}, now)
		if v := f.lookup("a", now); v.mustClaim || v.phase != cached {
			t.Fatal("the answer is not cached")
		}
		later := now.Add(3 * time.Second)
		next := f.lookup("b", later)
		if !next.mustClaim || (next.entry == first) == waited {
			t.Errorf("with a waiter: %v; the entry was reused: %v, want the opposite", waited, next.entry == first)
		}
		if e := next.entry; e.key != "b" || e.phase != claiming || e.rec.State != engine.Absent || e.shared {
			t.Errorf("the reused entry was not reset: %+v", *e)
		}
		if v := f.lookup("a", later); !v.mustClaim || v.entry == next.entry {
			t.Error("the lookup found the entry of another key")
		}
		f.remove(next.entry, nil)
	}
}
