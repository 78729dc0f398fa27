package memory

import (
	"maps"
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// An entry is anything that a shard keeps until it expires.
type entry struct {
	key     string
	holder  string
	attempt string   // the first attempt; usually the only one
	more    []string // further attempts of a named owner

	fence   uint64
	expires int64
	index   int            // its index in the expiry heap
	class   class          // the kind of entry
	kind    engine.Kind    // the family of a lock, or the kind of a shared hold or waiter
	shared  *sharedHolders // the holders, if several are allowed; otherwise nil
}

// A class is the kind of an entry.
type class uint8

const (
	classLock       class = iota // a lock with one holder or several
	classLatch                   // a latch
	classTombstone               // the tombstone of an abandoned attempt
	classRevocation              // a hold that was released by force
	classQueue                   // the queue of a lock
	classQuota                   // the units of a quota
	classClient                  // a registered client
)

// An attemptKey identifies a tombstone or a revocation. The holder is empty for a claim.
type attemptKey struct{ key, holder, attempt string }

func attemptKeyOf(r engine.Request) attemptKey { return attemptKey{r.Key, r.Holder, r.Attempt} }

// count returns how many attempts share the hold.
func (l *entry) count() int {
	if l.attempt == "" {
		return 0
	}
	return 1 + len(l.more)
}

// hasAttempt reports whether attempt shares the hold.
func (l *entry) hasAttempt(attempt string) bool {
	return l.attempt == attempt || slices.Contains(l.more, attempt)
}

// removeAttempt removes attempt and returns how many attempts are left.
func (l *entry) removeAttempt(attempt string) int {
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

// holdOf returns the hold of r's holder and kind, or nil.
func (l *entry) holdOf(r engine.Request) *entry {
	switch {
	case l == nil || l.kind != family(r.Kind):
		return nil
	case l.shared != nil:
		return l.shared.holds[holdKeyOf(r)]
	case l.holder == r.Holder:
		return l
	}
	return nil
}

// holdOfAttempt returns the hold of r's attempt, or nil.
func (l *entry) holdOfAttempt(r engine.Request) *entry {
	if h := l.holdOf(r); h != nil && h.hasAttempt(r.Attempt) {
		return h
	}
	return nil
}

// blocking returns a holder that keeps r from the lock, or nil. It ignores the queue.
func (l *entry) blocking(r engine.Request) *entry {
	if l == nil || l.shared == nil {
		return l
	}
	return l.shared.blocking(r)
}

// holds returns all holds of the lock.
func (l *entry) holds() []*entry {
	if l.shared == nil {
		return []*entry{l}
	}
	return slices.Collect(maps.Values(l.shared.holds))
}

// firstHolder returns one of the holders.
func (l *entry) firstHolder() *entry {
	if l.shared == nil {
		return l
	}
	return l.shared.first()
}
