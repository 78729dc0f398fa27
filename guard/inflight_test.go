package guard

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// TestSeatsAreUsedAgain says which seats are: those of which only who sat on them
// knew. It is inside the package since a seat that is used again too soon shows
// outside as nothing but a rare wrong count.
func TestSeatsAreUsedAgain(t *testing.T) {
	for _, waited := range []bool{false, true} {
		d := newInflight(Policy{LocalCache: time.Second}, newSettings(nil))
		defer d.close()
		now := time.Now()
		first := d.lookup("a", now).entry
		if waited {
			if v := d.lookup("a", now); v.mustClaim || v.entry != first {
				t.Fatal("somebody who comes second has the seat")
			}
		}
		d.cache(first, engine.Record{State: engine.Done, Left: time.Hour, Result: []byte("1")}, now)
		if v := d.lookup("a", now); v.mustClaim || v.phase != cached {
			t.Fatal("what was told is not known")
		}
		later := now.Add(3 * time.Second)
		next := d.lookup("b", later)
		if !next.mustClaim || (next.entry == first) == waited {
			t.Errorf("waited for: %v; used again: %v", waited, next.entry == first)
		}
		if s := next.entry; s.key != "b" || s.phase != claiming || s.rec.State != engine.Absent || s.shared {
			t.Errorf("it is used again as it was left: %+v", *s)
		}
		if v := d.lookup("a", later); !v.mustClaim || v.entry == next.entry {
			t.Error("the seat of another key is taken for it")
		}
		d.remove(next.entry, nil)
	}
}
