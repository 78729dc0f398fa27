package histogram

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

func TestNativeBuckets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		d := time.Duration(math.Exp2(random.Float64()*42)) + 1 // 1ns to 73min
		x := d.Seconds()
		i := nativeIndex(d)
		upper, lower := math.Exp2(float64(i)/perOctave), math.Exp2(float64(i-1)/perOctave)
		if i > first && x <= lower*(1-1e-12) || i < last && x > upper*(1+1e-12) {
			t.Fatalf("%v is in bucket %d, from %g to %g", d, i, lower, upper)
		}
	}
	for d, want := range map[time.Duration]int{0: first, 1: first, time.Second: 0, 2 * time.Second: perOctave, time.Second / 2: -perOctave, time.Second + 1: 1, 100 * time.Hour: last} {
		if got := nativeIndex(d); got != want {
			t.Errorf("%v is in bucket %d, want %d", d, got, want)
		}
	}
}

func TestSnapshot(t *testing.T) {
	var h Histogram
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range 1000 {
				h.Observe(time.Millisecond)
				h.Observe(time.Millisecond + 1)
				h.Observe(time.Hour)
			}
		})
	}
	callers.Wait()
	h.Observe(-time.Second)
	s := h.Snapshot()
	if want := 4000 * (2*time.Millisecond + 1 + time.Hour); s.Count != 12001 || s.Sum != want {
		t.Errorf("the snapshot has %d durations with the sum %v, want 12001 with the sum %v", s.Count, s.Sum, want)
	}
	for i, want := range map[time.Duration]uint64{100 * time.Microsecond: 1, time.Millisecond: 4001, 2500 * time.Microsecond: 8001, 10 * time.Minute: 8001} {
		if got := s.Classic[classicIndex(i)]; got != want {
			t.Errorf("%d durations are at most %v, want %d", got, i, want)
		}
	}
	var native uint64
	for _, n := range s.Native {
		native += n
	}
	if native != s.Count {
		t.Errorf("the native buckets have %d durations, want %d", native, s.Count)
	}
	var both Snapshot
	both.Add(s)
	both.Add(s)
	if both.Count != 2*s.Count || both.Classic[3] != 2*s.Classic[3] || both.Mean() != s.Mean() {
		t.Errorf("twice the snapshot has %d durations, mean %v, want %d and %v", both.Count, both.Mean(), 2*s.Count, s.Mean())
	}
}

func BenchmarkObserve(b *testing.B) {
	var h Histogram
	for i := range b.N {
		h.Observe(time.Duration(i))
	}
}
