package gateway

import (
	"errors"
	"sync"
)

// How many requests may wait for the locks of one rule: for one key, and in all. They
// are as many as may wait in a guard.
const (
	mostForKey = 1000
	mostInAll  = 10_000
)

// errCrowded is told to those for whom there is no more room to wait.
var errCrowded = errors.New("gateway: too many wait for the lock already")

// A crowd is those who ask for the locks of a rule and do not have them yet.
type crowd struct {
	perKey, inAll int

	mu   sync.Mutex
	all  int
	keys map[string]int // how many of them are at each key; nobody is at one that is not there
}

func newCrowd(perKey, inAll int) *crowd {
	return &crowd{perKey: perKey, inAll: inAll, keys: make(map[string]int)}
}

// join counts somebody, and reports whether there is room.
func (c *crowd) join(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys[key] >= c.perKey || c.all >= c.inAll {
		return false
	}
	c.keys[key]++
	c.all++
	return true
}

// leave takes back join.
func (c *crowd) leave(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.keys[key]--; c.keys[key] == 0 {
		delete(c.keys, key)
	}
}
