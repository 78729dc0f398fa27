package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
)

// Those who wait are bounded for each key and in all, and nothing is left of those who
// have gone (14).
func TestRoomToWait(t *testing.T) {
	c := newCrowd(2, 3)
	for i, want := range []struct {
		key string
		ok  bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"b", false}, {"c", false}} {
		if got := c.join(want.key); got != want.ok {
			t.Errorf("the %d. asks for %s: there is room: %v", i+1, want.key, got)
		}
	}
	c.leave("a")
	if !c.join("c") || c.join("a") {
		t.Error("one who left does not make room for one")
	}
	c.leave("a")
	c.leave("b")
	c.leave("c")
	if len(c.keys) != 0 || c.all != 0 {
		t.Errorf("left are %v, %d in all", c.keys, c.all)
	}
}

// Of lines of a kind one is written each second, and it says how many were not (20).
func TestSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sample
		a, b := kind{"a", interlockhttp.StoreUnavailable}, kind{"b", interlockhttp.StoreUnavailable}
		for second, want := range []int{0, 9, 9} {
			left, ok := s.takes(a)
			if !ok || left != want {
				t.Errorf("in second %d: %v, %d left out, want %d", second, ok, left, want)
			}
			for range 9 {
				if _, ok := s.takes(a); ok {
					t.Error("one more is written")
				}
			}
			time.Sleep(time.Second)
		}
		if left, ok := s.takes(b); !ok || left != 0 {
			t.Errorf("another kind: %v, %d", ok, left)
		}
	})
}
