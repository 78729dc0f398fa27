package topk

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Kept is the number of durations that Longest keeps per minute, and the most that it
// returns.
const Kept = 10

// window is how long Longest remembers a duration, in minutes.
const window = 60

// Longest keeps the longest durations of the last hour. It keeps the ten longest of each
// minute, so the ten longest of the hour are exact.
//
// The zero value is ready for use. All methods are safe for concurrent use.
type Longest[V any] struct {
	// floor lets Add skip shorter durations of its minute without the mutex. It is nil until
	// a minute has ten durations.
	floor atomic.Pointer[floor]
	began atomic.Pointer[time.Time] // when minute 0 began; it is monotonic, so setting the wall clock does not move it

	mu      sync.Mutex
	minutes [window + 1]minuteOf[V] // a ring: the minutes of the window, and the present one
}

// A floor is the shortest of a minute's ten longest durations.
type floor struct {
	minute int64
	took   time.Duration
}

// A Duration is a duration with its description.
type Duration[V any] struct {
	Took  time.Duration
	Ended time.Time
	Of    V
}

// A minuteOf is the longest durations of a minute, the longest first.
type minuteOf[V any] struct {
	minute  int64 // since Longest began
	longest []Duration[V]
}

// Add adds a duration that ended now. It calls describe only for a duration that
// it keeps.
func (l *Longest[V]) Add(now time.Time, took time.Duration, describe func() V) {
	minute := l.minuteAt(now)
	if f := l.floor.Load(); f != nil && f.minute == minute && took <= f.took {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &l.minutes[minute%int64(len(l.minutes))]
	switch {
	case m.minute > minute:
		return // older than the window
	case m.minute < minute:
		*m = minuteOf[V]{minute: minute, longest: m.longest[:0]}
	}
	i, _ := slices.BinarySearchFunc(m.longest, took, func(d Duration[V], took time.Duration) int { return cmp.Compare(took, d.Took) })
	if i < Kept {
		m.longest = slices.Insert(m.longest, i, Duration[V]{took, now, describe()})
		m.longest = m.longest[:min(len(m.longest), Kept)]
	}
	if len(m.longest) == Kept {
		l.floor.Store(&floor{minute, m.longest[Kept-1].Took})
	}
}

// minuteAt returns the minute of now.
func (l *Longest[V]) minuteAt(now time.Time) int64 {
	if l.began.Load() == nil {
		first := now // only this copy is on the heap
		l.began.CompareAndSwap(nil, &first)
	}
	return max(0, int64(now.Sub(*l.began.Load())/time.Minute))
}

// Top returns the longest durations that ended within the last hour, the longest first.
func (l *Longest[V]) Top(now time.Time) []Duration[V] {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Duration[V]
	for _, m := range l.minutes {
		for _, d := range m.longest {
			if now.Sub(d.Ended) <= window*time.Minute {
				all = append(all, d)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Duration[V]) int { return cmp.Compare(b.Took, a.Took) })
	return slices.Clip(all[:min(Kept, len(all))])
}
