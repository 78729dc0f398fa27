package gateway

import "testing"

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
