package engine

import (
	"context"
	"strings"
	"time"
)

// An Inspector lets operators list, inspect and release locks. Keys that are not
// locks, latches among them, are never listed or modified; asked for such a key,
// it fails with [ErrKind].
type Inspector interface {
	// List returns one page of the held locks whose keys match pattern. The
	// first cursor is ""; next is "" after the last page. A lock that is held
	// throughout is listed at least once.
	List(ctx context.Context, pattern, cursor string) (locks []Lock, next string, err error)

	// Inspect returns the lock at key. A free lock has no holders.
	Inspect(ctx context.Context, key string) (Lock, error)

	// ForceRelease takes the lock at key from all its holders and returns the
	// lock as it was. Waiters are notified and keep their positions. A renewal by
	// a former holder fails with [ErrRevoked] for at least a minute, and for
	// three times the rest of its lease. If the lock is free, ForceRelease
	// empties its queue; the waiters are notified and queue again.
	ForceRelease(ctx context.Context, key string) (Lock, error)

	// Register makes a client known for the given time. Holder ids that begin
	// with its ID and a colon belong to it.
	Register(ctx context.Context, m Member, life time.Duration) error

	// Members returns the registered clients among the given IDs.
	Members(ctx context.Context, ids []string) ([]Member, error)

	// Watch returns a channel that receives when a lock of the client with that
	// ID was released by force; stop works as in [Notifier]. Locks of a named
	// owner belong to the clients whose attempts hold them: such attempts begin
	// with the client's ID and a colon.
	Watch(id string) (wake <-chan struct{}, stop func())
}

// A Lock is a lock as an [Inspector] sees it.
type Lock struct {
	Key     string
	Kind    Kind     // Fair for an exclusive lock with callers in its queue; for a read/write lock, the kind of its holders
	Holders []Holder // the writer first; the rest in no order
	Waiters []Waiter // in queue order

	// Listeners is how many processes wait for a notification of an Exclusive
	// lock. It is a hint.
	Listeners int
}

// A Holder is a holder of a lock.
type Holder struct {
	Name  string // as in Request.Holder
	Kind  Kind
	Count int           // entries
	Fence uint64        // zero for a holder of another library
	Left  time.Duration // time left of its lease; zero if the lease does not expire
}

// A Waiter is a caller in the queue of a lock.
type Waiter struct {
	Name string // as in Request.Holder
	Kind Kind
	Left time.Duration // time until its position expires
}

// A Member is a registered client of an engine.
type Member struct {
	ID    string    // its holder ids begin with it
	Name  string    // the name of the program
	Host  string    // the name of its machine
	PID   int       // the id of its process
	Since time.Time // when the client was made
}

// Match reports whether key matches pattern, in which * stands for any text and
// ? for any byte. After a backslash, * and ? stand for themselves.
func Match(pattern, key string) bool {
	star, back := -1, 0 // the last star, and where its match ends
	for p, k := 0, 0; ; {
		switch width := matchByte(pattern[p:], key[k:]); {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, k
			p++
		case p == len(pattern) && k == len(key):
			return true
		case width > 0:
			p, k = p+width, k+1
		case star >= 0 && back < len(key):
			back++
			p, k = star+1, back
		default:
			return false
		}
	}
}

// Literal returns a pattern that matches s and nothing else.
func Literal(s string) string { return patternEscapes.Replace(s) }

var patternEscapes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`)

// matchByte returns how many bytes of pattern match the first byte of key, or zero
// if they do not match.
func matchByte(pattern, key string) int {
	switch {
	case pattern == "" || key == "":
		return 0
	case pattern[0] == '\\' && len(pattern) > 1:
		if pattern[1] != key[0] {
			return 0
		}
		return 2
	case pattern[0] == '?' || pattern[0] == key[0]:
		return 1
	}
	return 0
}
