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
		d := newDesk(Policy{LocalCache: time.Second}, newSettings(nil))
		defer d.close()
		now := time.Now()
		first := d.sit("a", now).seat
		if waited {
			if v := d.sit("a", now); v.mine || v.seat != first {
				t.Fatal("somebody who comes second has the seat")
			}
		}
		d.tell(first, engine.Record{State: engine.Done, Left: time.Hour, Result: []byte("1")}, now)
		if v := d.sit("a", now); v.mine || v.phase != told {
			t.Fatal("what was told is not known")
		}
		later := now.Add(3 * time.Second)
		next := d.sit("b", later)
		if !next.mine || (next.seat == first) == waited {
			t.Errorf("waited for: %v; used again: %v", waited, next.seat == first)
		}
		if s := next.seat; s.key != "b" || s.phase != asking || s.rec.State != engine.Absent || s.known {
			t.Errorf("it is used again as it was left: %+v", *s)
		}
		if v := d.sit("a", later); !v.mine || v.seat == next.seat {
			t.Error("the seat of another key is taken for it")
		}
		d.vacate(next.seat, nil)
	}
}
