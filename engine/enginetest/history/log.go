package history

import (
	"slices"
	"sync"
	"time"
)

// A Log is a history of one process, kept in memory. The zero value is empty and
// ready to use.
type Log struct {
	mu     sync.Mutex
	events []Event
}

// Add appends an event.
func (l *Log) Add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.At.IsZero() {
		e.At = time.Now()
	}
	l.events = append(l.events, e)
}

// Events returns what happened so far.
func (l *Log) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}
