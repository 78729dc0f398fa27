package main

import (
	"math/bits"
	"time"
)

// A histogram counts durations in buckets that are at most 3 % wide. It never allocates,
// so it does not change the allocation counts.
type histogram struct {
	counts [32 * 42]uint32 // up to two hours
	n      int
}

func (h *histogram) add(d time.Duration) {
	h.counts[min(bucket(d), len(h.counts)-1)]++
	h.n++
}

func (h *histogram) merge(other *histogram) {
	for i, c := range other.counts {
		h.counts[i] += c
	}
	h.n += other.n
}

// at returns a percentile: the duration that the given part of all durations does not exceed.
func (h *histogram) at(part float64) time.Duration {
	rank := int(part * float64(h.n))
	for i, c := range h.counts {
		if rank -= int(c); rank < 0 {
			return middle(i)
		}
	}
	return 0
}

// bucket keeps the six leading bits of a duration in nanoseconds.
func bucket(d time.Duration) int {
	ns := uint64(max(d, 0))
	if ns < 64 {
		return int(ns)
	}
	shift := bits.Len64(ns) - 6
	return shift*32 + int(ns>>shift)
}

// middle returns the duration in the middle of a bucket.
func middle(bucket int) time.Duration {
	if bucket < 64 {
		return time.Duration(bucket)
	}
	shift := bucket/32 - 1
	return time.Duration(bucket%32+32)<<shift + 1<<shift/2
}
