package memory

import (
	"maps"
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// An entry is something that a shard keeps for a while.
type entry struct {
	key     string
	holder  string
	attempt string   // the first one; nearly always the only one
	more    []string // further attempts of a named owner

	fence   uint64
	expires int64
	place   int         // in the expiry it belongs to
	sort    sort        // what it is
	kind    engine.Kind // of a lock, its family; of one hold among many, or a place in line, its own
	crowd   *crowd      // those who hold the lock, if there may be many
}

// A sort is what an entry is.
type sort uint8

const (
	aLock   sort = iota // held by one, or by a crowd
	aLatch              // counted down by many
	aGrave              // the tombstone of an attempt that was abandoned
	aNotice             // a hold that was seized
	aLine               // those who wait for a lock
	aClient             // one that made itself known
)

// identity is what a tombstone or a notice is found by.
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
func (l *entry) through(attempt string) bool {
	return l.attempt == attempt || slices.Contains(l.more, attempt)
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

// held returns what r's holder has of the lock in the way r asks for, or nil.
func (l *entry) held(r engine.Request) *entry {
	switch {
	case l == nil || l.kind != family(r.Kind):
		return nil
	case l.crowd != nil:
		return l.crowd.holds[seatOf(r)]
	case l.holder == r.Holder:
		return l
	}
	return nil
}

// hold returns the hold that r's attempt began, or nil.
func (l *entry) hold(r engine.Request) *entry {
	if h := l.held(r); h != nil && h.through(r.Attempt) {
		return h
	}
	return nil
}

// rival returns one who keeps r out, or nil. It does not look at the line.
func (l *entry) rival(r engine.Request) *entry {
	if l == nil || l.crowd == nil {
		return l
	}
	return l.crowd.rival(r)
}

// holds are those by which the lock is held.
func (l *entry) holds() []*entry {
	if l.crowd == nil {
		return []*entry{l}
	}
	return slices.Collect(maps.Values(l.crowd.holds))
}

// somebody returns one of those who hold the lock.
func (l *entry) somebody() *entry {
	if l.crowd == nil {
		return l
	}
	return l.crowd.somebody()
}
