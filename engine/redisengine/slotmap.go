package redisengine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// SlotMap remembers which primary of a cluster has which slots: it is a part of
// every [Cluster].
type SlotMap struct {
	// Ask asks the cluster.
	Fetch func(ctx context.Context) ([]Span, error)

	// Refresh is after how long it is asked again. Zero means 2 s.
	Refresh time.Duration

	mu       sync.Mutex
	fetched  time.Time // when spans was read; zero if it is to be read anew
	spans    []Span
	fetching *slotFetch // nil if nobody asks
}

// A question is one that somebody asks for all who want to know.
type slotFetch struct {
	done     chan struct{} // closed when the rest is known
	spans    []Span
	err      error
	canceled bool // it is the asker's own context that has ended
}

// A Span is some slots and the primary that has them.
type Span struct {
	From, To int // both included
	Addr     string
}

// Forget implements [Cluster]. What is being asked was asked before, and counts for
// those only who wait for it.
func (h *SlotMap) Invalidate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fetched, h.fetching = time.Time{}, nil
}

// Home implements [Cluster].
func (h *SlotMap) PrimaryFor(ctx context.Context, key string) (string, error) {
	spans, err := h.current(ctx)
	if err != nil {
		return "", err
	}
	slot := Slot(key)
	for _, s := range spans {
		if s.From <= slot && slot <= s.To {
			return s.Addr, nil
		}
	}
	h.Invalidate()
	return "", fmt.Errorf("no node of the cluster serves slot %d for now: see CLUSTER INFO", slot)
}

// Primaries implements [Cluster].
func (h *SlotMap) Primaries(ctx context.Context) ([]Primary, error) {
	spans, err := h.current(ctx)
	if err != nil {
		return nil, err
	}
	first := make(map[string]int)
	for _, s := range spans {
		if f, known := first[s.Addr]; !known || s.From < f {
			first[s.Addr] = s.From
		}
	}
	primaries := make([]Primary, 0, len(first))
	for addr, slot := range first {
		primaries = append(primaries, Primary{Addr: addr, First: slot})
	}
	if len(primaries) == 0 {
		return nil, errors.New("the cluster serves no slot: see CLUSTER INFO")
	}
	slices.SortFunc(primaries, func(a, b Primary) int { return a.First - b.First })
	return primaries, nil
}

// known returns who has which slots, as it was a short while ago. One asks for
// all who want to know, none of whom waits longer than its context lets it.
func (h *SlotMap) current(ctx context.Context) ([]Span, error) {
	for {
		spans, q, first := h.start()
		switch {
		case q == nil:
			return spans, nil
		case first:
			h.fetch(ctx, q)
			return q.spans, q.err
		}
		select {
		case <-q.done:
			if !q.canceled {
				return q.spans, q.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// question returns what is known, or else what is being asked, and whether it is
// the caller who has to ask it.
func (h *SlotMap) start() (spans []Span, q *slotFetch, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	refresh := h.Refresh
	if refresh <= 0 {
		refresh = defaultRefresh
	}
	if time.Since(h.fetched) < refresh {
		return h.spans, nil, false
	}
	if h.fetching == nil {
		h.fetching, first = &slotFetch{done: make(chan struct{}), canceled: true}, true
	}
	return nil, h.fetching, first
}

// answer asks.
func (h *SlotMap) fetch(ctx context.Context, q *slotFetch) {
	defer close(q.done)
	began := time.Now()
	spans, err := h.Fetch(ctx)
	if err != nil {
		err = fmt.Errorf("no node of the cluster tells where its slots are: %w", err)
	}
	q.spans, q.err, q.canceled = spans, err, err != nil && ctx.Err() != nil
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fetching != q {
		return // something has moved since
	}
	h.fetching = nil
	if err == nil {
		h.spans, h.fetched = spans, began
	}
}
