package topk

import (
	"testing"
	"time"
	"unsafe"
)

// after returns what the clock reads d after t, if its wall clock was moved by step meanwhile.
func after(t time.Time, d, step time.Duration) time.Time {
	t = t.Add(d)
	wall := (*uint64)(unsafe.Pointer(&t)) //nolint:gosec // a test cannot set the machine's clock
	*wall += uint64(step/time.Second) << 30
	return t
}

func TestLongestAfterTheClockWasSet(t *testing.T) {
	now := time.Now()
	if moved := after(now, time.Minute, -24*time.Hour); moved.Sub(now) != time.Minute || moved.Unix() >= now.Unix() {
		t.Skip("package time represents times differently")
	}
	for _, step := range []time.Duration{-30 * time.Minute, -24 * time.Hour, 24 * time.Hour} {
		var l Longest[int]
		for i := range 60 {
			for range Kept {
				l.Add(now.Add(time.Duration(i)*time.Minute), time.Second, func() int { return 0 })
			}
		}
		for i := range 60 { // the second hour, by a clock that was set
			l.Add(after(now, time.Duration(60+i)*time.Minute, step), time.Duration(2+i)*time.Second, func() int { return i })
		}
		top := l.Top(after(now, 120*time.Minute, step))
		if len(top) != Kept || top[0].Of != 59 || top[Kept-1].Of != 50 {
			t.Errorf("after the clock was set by %v: %v, want 59 to 50", step, top)
		}
	}
}
