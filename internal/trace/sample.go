package trace

import (
	"sync"
	"time"
)

// A Sample limits a log to one line per second and name, since in an outage each call
// would write the same line. The zero value is ready for use.
type Sample struct {
	mu    sync.Mutex
	names map[string]*sampled
}

type sampled struct {
	next    time.Time // when the next line may be written
	skipped int       // lines since the last one written
}

const (
	sampleInterval = time.Second
	maxSampled     = 1000 // names; a program has fewer
)

// Allow reports whether to write a line, and how many were skipped since the last one.
func (s *Sample) Allow(name string) (skipped int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.names[name]
	if c == nil {
		if s.names == nil || len(s.names) >= maxSampled {
			s.names = make(map[string]*sampled)
		}
		c = new(sampled)
		s.names[name] = c
	}
	now := time.Now()
	if now.Before(c.next) {
		c.skipped++
		return 0, false
	}
	skipped, c.skipped, c.next = c.skipped, 0, now.Add(sampleInterval)
	return skipped, true
}
