package gateway

import (
	"errors"
	"sync"
)

// The default bounds of a waitLimit. A guard has the same.
const (
	maxWaitersPerKey = 1000
	maxWaiters       = 10_000 // per rule
)

// errTooManyWaiters becomes the problem too_many_waiters; see answer.
var errTooManyWaiters = errors.New("gateway: too many requests wait for the lock or the limit already")

// A waitLimit bounds how many requests wait for the locks or the limits of a rule, so that a
// client cannot fill the memory with waiting requests.
type waitLimit struct {
	maxPerKey, maxTotal int

	// mu guards both counts: total is always the sum of keys.
	mu    sync.Mutex
	total int
	keys  map[string]int // waiters per key; no entry is zero
}

func newWaitLimit(perKey, total int) *waitLimit {
	return &waitLimit{maxPerKey: perKey, maxTotal: total, keys: make(map[string]int)}
}

// enter counts a waiter, and reports whether it may wait. The limit per key keeps one
// popular key from using up the limit of the rule.
func (l *waitLimit) enter(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys[key] >= l.maxPerKey || l.total >= l.maxTotal {
		return false
	}
	l.keys[key]++
	l.total++
	return true
}

// leave counts a waiter that has got the lock or given up.
func (l *waitLimit) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.keys[key]--; l.keys[key] == 0 {
		delete(l.keys, key)
	}
}
