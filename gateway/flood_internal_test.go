package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
)

// Waiters are bounded per key and in total. After the last waiter of a key has left, the
// limit holds no memory for the key.
func TestWaitLimit(t *testing.T) {
	c := newWaitLimit(2, 3)
	for i, want := range []struct {
		key string
		ok  bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"b", false}, {"c", false}} {
		if got := c.enter(want.key); got != want.ok {
			t.Errorf("waiter %d of %s is admitted: %v, want %v", i+1, want.key, got, want.ok)
		}
	}
	c.leave("a")
	if !c.enter("c") || c.enter("a") {
		t.Error("after one waiter has left, the limit does not admit exactly one other")
	}
	c.leave("a")
	c.leave("b")
	c.leave("c")
	if len(c.keys) != 0 || c.total != 0 {
		t.Errorf("after all have left, %v are counted, %d in total", c.keys, c.total)
	}
}

// One of many similar log lines is written per second, and it counts the skipped ones.
func TestLogSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s logSample
		a, b := logKey{"a", string(interlockhttp.StoreUnavailable)}, logKey{"b", string(interlockhttp.StoreUnavailable)}
		for second, want := range []int{0, 9, 9} {
			skipped, ok := s.allow(a)
			if !ok || skipped != want {
				t.Errorf("in second %d: written %v, %d skipped, want %d", second, ok, skipped, want)
			}
			for range 9 {
				if _, ok := s.allow(a); ok {
					t.Error("a second line is written within a second")
				}
			}
			time.Sleep(time.Second)
		}
		if skipped, ok := s.allow(b); !ok || skipped != 0 {
			t.Errorf("a line of another rule: written %v, %d skipped", ok, skipped)
		}
	})
}
