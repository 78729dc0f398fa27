// Package histogram counts durations in buckets. It costs three atomic additions per
// duration, and has both the classic and the native buckets of Prometheus.
package histogram

import (
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// Bounds are the upper bounds of the classic buckets. They are those that alerts and
// dashboards need: one decade in three steps, and the thresholds of 500ms and 30s.
var Bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second, time.Minute, 10 * time.Minute,
}

// A native bucket with index i holds the durations of more than 2^((i-1)/8) and at most
// 2^(i/8) seconds. This is Prometheus's schema 3: each bucket is 9 % wider than the one
// before.
const (
	Schema = 3

	perOctave = 1 << Schema
	first     = -24 * perOctave // 2^-24 s are 60 ns
	last      = 12 * perOctave  // 2^12 s are 68 minutes
)

// A Histogram counts durations. The zero value is ready for use, and all methods are safe
// for concurrent use.
type Histogram struct {
	sum     atomic.Int64 // nanoseconds
	classic [len(Bounds) + 1]atomic.Uint64
	native  [last - first + 1]atomic.Uint64

	examples [len(Bounds) + 1]atomic.Pointer[Exemplar] // one per classic bucket
}

// An Exemplar is a duration and the id of the trace that it was measured in.
type Exemplar struct {
	TraceID string
	Value   time.Duration
	At      time.Time
}

// Observe counts a duration. A negative one counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	h.sum.Add(int64(d))
	h.classic[classicIndex(d)].Add(1)
	h.native[nativeIndex(d)-first].Add(1)
}

// ObserveTraced counts a duration. Unless traceID is empty, the duration becomes the
// exemplar of its bucket.
func (h *Histogram) ObserveTraced(d time.Duration, traceID string) {
	h.Observe(d)
	if traceID != "" {
		d = max(d, 0)
		h.examples[classicIndex(d)].Store(&Exemplar{traceID, d, time.Now()})
	}
}

// Sum returns the sum of all durations.
func (h *Histogram) Sum() time.Duration { return time.Duration(h.sum.Load()) }

// Snapshot returns the counts so far.
func (h *Histogram) Snapshot() Snapshot {
	s := Snapshot{Classic: make([]uint64, len(Bounds)), Native: make(map[int]uint64)}
	for i := range h.native {
		if n := h.native[i].Load(); n > 0 {
			s.Native[i+first] = n
			s.Count += n
		}
	}
	var below uint64
	for i := range Bounds {
		below += h.classic[i].Load()
		s.Classic[i] = min(below, s.Count) // a duration may be counted between the two loops
	}
	s.Sum = h.Sum()
	for i := range h.examples {
		if e := h.examples[i].Load(); e != nil {
			s.Exemplars = append(s.Exemplars, *e)
		}
	}
	return s
}

// A Snapshot is the content of a [Histogram] at one time.
type Snapshot struct {
	Count   uint64
	Sum     time.Duration
	Classic []uint64       // durations up to each of Bounds
	Native  map[int]uint64 // durations in each native bucket

	Exemplars []Exemplar // the last traced duration of each classic bucket, the shortest first
}

// Add adds the counts of another snapshot.
func (s *Snapshot) Add(t Snapshot) {
	s.Count, s.Sum = s.Count+t.Count, s.Sum+t.Sum
	if s.Classic == nil {
		s.Classic = make([]uint64, len(Bounds))
	}
	for i, n := range t.Classic {
		s.Classic[i] += n
	}
	if s.Native == nil {
		s.Native = make(map[int]uint64)
	}
	for i, n := range t.Native {
		s.Native[i] += n
	}
}

// Mean returns the mean duration; zero without any.
func (s Snapshot) Mean() time.Duration {
	if s.Count == 0 {
		return 0
	}
	return s.Sum / time.Duration(s.Count) //nolint:gosec // a count of 2^63 is out of reach
}

func classicIndex(d time.Duration) int {
	i, _ := slices.BinarySearch(Bounds[:], d)
	return i
}

// octave holds the upper bounds of the native buckets within one octave, multiplied by 2^63.
// The last bucket has no entry: its upper bound is the end of the octave.
var octave = func() (bounds [perOctave - 1]uint64) {
	for i := range bounds {
		bounds[i] = uint64(math.Exp2(float64(i+1)/perOctave) * (1 << 63))
	}
	return bounds
}()

// nativeIndex returns the index of the native bucket of d.
func nativeIndex(d time.Duration) int {
	if d <= 0 {
		return first
	}
	// d is fraction/2^63 × 2^exponent seconds; fraction/2^63 is from one to two.
	seconds := math.Float64bits(d.Seconds())
	exponent := int(seconds>>52) - 1023
	fraction := 1<<63 | seconds<<11&^(1<<63)
	i := 1
	for i <= len(octave) && fraction > octave[i-1] {
		i++
	}
	if fraction == 1<<63 {
		i = 0
	}
	return min(max(exponent*perOctave+i, first), last)
}
