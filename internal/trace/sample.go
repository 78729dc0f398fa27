package trace

import (
	"sync"
	"time"
)

// A Sample limits a log. In each second it lets the first PerSecond lines of a key pass, and
// counts the lines that it skips.
type Sample[K comparable] struct {
	PerSecond int

	mu    sync.Mutex
	keys  map[K]*sampled
	other sampled   // of keys that do not fit
	swept time.Time // when idle keys were last removed
}

type sampled struct {
	until   time.Time // the end of the current second
	written int       // lines in it
	skipped int       // lines since the last one written
}

const (
	sampleInterval = time.Second
	maxSampled     = 1000 // keys; a program has fewer
)

// Allow reports whether to write a line, and how many lines with its key were skipped since
// the last one was written. While there are too many keys, new keys share one limit.
func (s *Sample[K]) Allow(key K) (skipped int, ok bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of(key, now)
	if !now.Before(c.until) {
		c.until, c.written = now.Add(sampleInterval), 0
	}
	if c.written >= s.PerSecond {
		c.skipped++
		return 0, false
	}
	c.written++
	skipped, c.skipped = c.skipped, 0
	return skipped, true
}

// of returns the counts of a key.
func (s *Sample[K]) of(key K, now time.Time) *sampled {
	if c := s.keys[key]; c != nil {
		return c
	}
	if len(s.keys) >= maxSampled && now.Sub(s.swept) >= sampleInterval {
		s.swept = now
		for k, c := range s.keys {
			if !now.Before(c.until) {
				s.other.skipped += c.skipped
				delete(s.keys, k)
			}
		}
	}
	if len(s.keys) >= maxSampled {
		return &s.other
	}
	if s.keys == nil {
		s.keys = make(map[K]*sampled)
	}
	c := new(sampled)
	s.keys[key] = c
	return c
}
