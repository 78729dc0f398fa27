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
	Ask func(ctx context.Context) ([]Span, error)

	// Refresh is after how long it is asked again. Zero means 2 s.
	Refresh time.Duration

	mu     sync.Mutex
	asked  time.Time // when spans was read; zero if it is to be read anew
	spans  []Span
	asking *question // nil if nobody asks
}

// A question is one that somebody asks for all who want to know.
type question struct {
	done   chan struct{} // closed when the rest is known
	spans  []Span
	err    error
	gaveUp bool // it is the asker's own context that has ended
}

// A Span is some slots and the primary that has them.
type Span struct {
	From, To int // both included
	Addr     string
}

// Forget implements [Cluster]. What is being asked was asked before, and counts for
// those only who wait for it.
func (h *SlotMap) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked, h.asking = time.Time{}, nil
}

// Home implements [Cluster].
func (h *SlotMap) Home(ctx context.Context, key string) (string, error) {
	spans, err := h.known(ctx)
	if err != nil {
		return "", err
	}
	slot := Slot(key)
	for _, s := range spans {
		if s.From <= slot && slot <= s.To {
			return s.Addr, nil
		}
	}
	h.Forget()
	return "", fmt.Errorf("no node of the cluster serves slot %d for now: see CLUSTER INFO", slot)
}

// Primaries implements [Cluster].
func (h *SlotMap) Primaries(ctx context.Context) ([]Primary, error) {
	spans, err := h.known(ctx)
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
func (h *SlotMap) known(ctx context.Context) ([]Span, error) {
	for {
		spans, q, first := h.question()
		switch {
		case q == nil:
			return spans, nil
		case first:
			h.answer(ctx, q)
			return q.spans, q.err
		}
		select {
		case <-q.done:
			if !q.gaveUp {
				return q.spans, q.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// question returns what is known, or else what is being asked, and whether it is
// the caller who has to ask it.
func (h *SlotMap) question() (spans []Span, q *question, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	refresh := h.Refresh
	if refresh <= 0 {
		refresh = defaultRefresh
	}
	if time.Since(h.asked) < refresh {
		return h.spans, nil, false
	}
	if h.asking == nil {
		h.asking, first = &question{done: make(chan struct{}), gaveUp: true}, true
	}
	return nil, h.asking, first
}

// answer asks.
func (h *SlotMap) answer(ctx context.Context, q *question) {
	defer close(q.done)
	began := time.Now()
	spans, err := h.Ask(ctx)
	if err != nil {
		err = fmt.Errorf("no node of the cluster tells where its slots are: %w", err)
	}
	q.spans, q.err, q.gaveUp = spans, err, err != nil && ctx.Err() != nil
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asking != q {
		return // something has moved since
	}
	h.asking = nil
	if err == nil {
		h.spans, h.asked = spans, began
	}
}
