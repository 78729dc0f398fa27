// Package topk finds the few largest of many, in bounded memory.
package topk

import (
	"cmp"
	"container/heap"
	"slices"
	"sync"
	"time"
)

// Capacity is the number of keys that Counts keeps per generation.
const Capacity = 1000

// generation is how long a generation of counts grows. A count covers the present
// generation and the one before: between half an hour and an hour.
const generation = 30 * time.Minute

// Counts counts the most frequent keys of the last hour, by the Space-Saving algorithm:
// if all counters are in use, a new key takes over the smallest one and its count. So a
// count is never too low, and too high by at most its Error, which is below 1/Capacity of
// all additions. A key with more additions than that is never missing.
//
// The zero value is ready for use. All methods are safe for concurrent use.
type Counts[V any] struct {
	mu            sync.Mutex
	began         time.Time // of the present generation
	present, past table[V]
}

// A Count is a key with its count.
type Count[V any] struct {
	Key   string
	N     uint64
	Error uint64 // N is too high by at most this
	Last  V      // of the latest addition
}

// Add counts a key once.
func (c *Counts[V]) Add(now time.Time, key string, last V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(now)
	c.present.add(key, last)
}

// Top returns the n largest counts, the largest first.
func (c *Counts[V]) Top(now time.Time, n int) []Count[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(now)
	// A key without a counter in a generation may have been added as often as the key with
	// the smallest counter.
	missing := c.past.smallest() + c.present.smallest()
	sum := make(map[string]Count[V])
	for _, t := range []*table[V]{&c.past, &c.present} {
		for _, x := range t.heap {
			s, known := sum[x.Key]
			if !known {
				s.N, s.Error = missing, missing
			}
			sum[x.Key] = Count[V]{x.Key, s.N - t.smallest() + x.N, s.Error - t.smallest() + x.Error, x.Last}
		}
	}
	all := make([]Count[V], 0, len(sum))
	for _, x := range sum {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b Count[V]) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Key, b.Key)) })
	return slices.Clip(all[:min(n, len(all))])
}

// turn begins a new generation when the present one is old.
func (c *Counts[V]) turn(now time.Time) {
	switch age := now.Sub(c.began); {
	case age < generation:
		return
	case age < 2*generation:
		c.past = c.present
	default:
		c.past = table[V]{}
	}
	c.present, c.began = table[V]{}, now
}

// A table is the counters of one generation.
type table[V any] struct {
	index map[string]*counter[V]
	heap  byCount[V]
}

type counter[V any] struct {
	Count[V]
	at int // position in the heap
}

// smallest returns the smallest count; zero while there are free counters.
func (t *table[V]) smallest() uint64 {
	if len(t.heap) < Capacity {
		return 0
	}
	return t.heap[0].N
}

func (t *table[V]) add(key string, last V) {
	x := t.index[key]
	switch {
	case x != nil:
	case len(t.heap) < Capacity:
		if t.index == nil {
			t.index = make(map[string]*counter[V])
		}
		x = &counter[V]{Count: Count[V]{Key: key}}
		heap.Push(&t.heap, x)
		t.index[key] = x
	default:
		x = t.heap[0] // the smallest
		delete(t.index, x.Key)
		x.Key, x.Error = key, x.N
		t.index[key] = x
	}
	x.N++
	x.Last = last
	heap.Fix(&t.heap, x.at)
}

// byCount is a heap with the smallest count first.
type byCount[V any] []*counter[V]

func (h byCount[V]) Len() int           { return len(h) }
func (h byCount[V]) Less(i, j int) bool { return h[i].N < h[j].N }
func (h byCount[V]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push implements [heap.Interface].
func (h *byCount[V]) Push(x any) {
	c := x.(*counter[V])
	c.at = len(*h)
	*h = append(*h, c)
}

// Pop implements [heap.Interface]. No counter is ever removed.
func (h *byCount[V]) Pop() any { panic("topk: a counter was removed") }
