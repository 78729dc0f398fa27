package redisengine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A SlotMap caches which primary of a cluster has which slots. It is a part of every
// [Cluster].
type SlotMap struct {
	// Fetch reads the slots from the cluster.
	Fetch func(ctx context.Context) ([]Span, error)

	// Refresh is how long an answer is used. Default: 2s.
	Refresh time.Duration

	mu       sync.Mutex // guards the fields below; not held during Fetch
	fetched  time.Time  // when spans was read; zero after Invalidate
	spans    []Span
	fetching *slotFetch // nil if no fetch is pending
}

// A slotFetch is one call of Fetch, by one caller for all callers that wait.
type slotFetch struct {
	done     chan struct{} // closed when the fields below are set
	spans    []Span
	err      error
	canceled bool // the context of the caller that fetches has ended
}

// A Span is a range of slots and the primary that has them.
type Span struct {
	From, To int // both included
	Addr     string
}

// Invalidate implements [Cluster]. A pending fetch began before, so its answer is used
// only by callers that wait for it already.
func (m *SlotMap) Invalidate() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fetched, m.fetching = time.Time{}, nil
}

// PrimaryFor implements [Cluster].
func (m *SlotMap) PrimaryFor(ctx context.Context, key string) (string, error) {
	spans, err := m.current(ctx)
	if err != nil {
		return "", err
	}
	slot := Slot(key)
	if addr := primaryOf(spans, slot); addr != "" {
		return addr, nil
	}
	// The slot may be unassigned only for a moment, so the answer is not kept.
	m.Invalidate()
	return "", fmt.Errorf("no node of the cluster serves slot %d: see CLUSTER INFO", slot)
}

// LastPrimary implements [Cluster].
func (m *SlotMap) LastPrimary(key string) string {
	m.mu.Lock()
	spans := m.spans // replaced as a whole, never changed
	m.mu.Unlock()
	return primaryOf(spans, Slot(key))
}

// primaryOf returns the address of the primary that has a slot, or "".
func primaryOf(spans []Span, slot int) string {
	for _, s := range spans {
		if s.From <= slot && slot <= s.To {
			return s.Addr
		}
	}
	return ""
}

// Primaries implements [Cluster]. A primary may have several spans; the lowest slot
// orders it.
func (m *SlotMap) Primaries(ctx context.Context) ([]Primary, error) {
	spans, err := m.current(ctx)
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

// current returns the slots, at most Refresh old. One caller fetches for all; each waits
// no longer than its own context.
func (m *SlotMap) current(ctx context.Context) ([]Span, error) {
	for {
		spans, f, first := m.start()
		switch {
		case f == nil:
			return spans, nil
		case first:
			m.fetch(ctx, f)
			return f.spans, f.err
		}
		select {
		case <-f.done:
			// After a canceled fetch, whose caller gave up, this caller fetches itself.
			if !f.canceled {
				return f.spans, f.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// start returns the cached slots. If they are outdated, it returns a pending fetch, and
// whether the caller must run it.
func (m *SlotMap) start() (spans []Span, f *slotFetch, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	refresh := m.Refresh
	if refresh <= 0 {
		refresh = defaultRefresh
	}
	if time.Since(m.fetched) < refresh {
		return m.spans, nil, false
	}
	if m.fetching == nil {
		m.fetching, first = &slotFetch{done: make(chan struct{}), canceled: true}, true // canceled until fetch has its answer
	}
	return nil, m.fetching, first
}

// fetch runs f for all callers that wait, with the context of its own caller. The age of
// the answer counts from the request, not from its arrival.
func (m *SlotMap) fetch(ctx context.Context, f *slotFetch) {
	defer close(f.done)
	began := time.Now()
	spans, err := m.Fetch(ctx)
	if err != nil {
		err = fmt.Errorf("no node of the cluster reports its slots: %w", err)
	}
	f.spans, f.err, f.canceled = spans, err, err != nil && ctx.Err() != nil
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fetching != f {
		return // Invalidate was called since
	}
	m.fetching = nil
	if err == nil {
		m.spans, m.fetched = spans, began
	}
}
