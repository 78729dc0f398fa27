package memory

import (
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// An entry is something that a shard keeps for a while: a lock, or the tombstone
// of an attempt that was abandoned.
type entry struct {
	key     string
	holder  string
	attempt string   // the first one; nearly always the only one
	more    []string // further attempts of a named owner

	fence   uint64
	expires int64
	place   int // in the shard's expiry
	grave   bool
}

// identity is what a tombstone is found by.
type identity struct{ key, holder, attempt string }

func identityOf(r engine.Request) identity { return identity{r.Key, r.Holder, r.Attempt} }

// count is how many holds there are.
func (l *entry) count() int {
	if l.attempt == "" {
		return 0
	}
	return 1 + len(l.more)
}

// through reports whether attempt is one that the lock is held through.
func (l *entry) through(holder, attempt string) bool {
	return l.holder == holder && (l.attempt == attempt || slices.Contains(l.more, attempt))
}

// leave ends the hold that attempt began and returns how many are left.
func (l *entry) leave(attempt string) int {
	switch {
	case l.attempt != attempt:
		l.more = slices.DeleteFunc(l.more, func(a string) bool { return a == attempt })
	case len(l.more) > 0:
		l.attempt, l.more = l.more[0], l.more[1:]
	default:
		l.attempt = ""
	}
	return l.count()
}
