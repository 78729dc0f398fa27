package engine

import (
	"context"
	"strings"
	"time"
)

// An Inspector lets operators look at locks and take them away. It takes for a
// lock only what has a lock's shape, which a latch has not; asked for anything
// else by name, it fails with [ErrKind] and touches nothing.
type Inspector interface {
	// List returns some of the locks that are held and whose keys match pattern,
	// and where to go on: cursor is "" at first, and next is "" at the end. A
	// lock held throughout is listed, maybe more than once.
	List(ctx context.Context, pattern, cursor string) (locks []Lock, next string, err error)

	// Inspect returns what is at key. A lock that is free has no holders.
	Inspect(ctx context.Context, key string) (Lock, error)

	// Seize takes the lock at key away from all who hold it, and returns what it
	// was. Who waits is told, and stays in line. A renewal by those who held it
	// fails with [ErrRevoked], for a minute at least, and for three times what was
	// left of their leases. If nobody holds the lock, Seize empties its line: who
	// stood there is returned and told, and takes a new place when it comes back.
	ForceRelease(ctx context.Context, key string) (Lock, error)

	// Register makes a client known for a while: the holders whose names begin
	// with its ID and a colon are its.
	Register(ctx context.Context, m Member, life time.Duration) error

	// Members returns those of the clients with the given IDs that are known.
	Members(ctx context.Context, ids []string) ([]Member, error)

	// Watch returns a channel that receives when a lock has been seized from the
	// client with that ID, as [Notifier] does. What a named owner held was its
	// clients': their attempts begin with their IDs and a colon, too.
	Watch(id string) (wake <-chan struct{}, stop func())
}

// A Lock is what an [Inspector] sees at a key.
type Lock struct {
	Key     string
	Kind    Kind     // Read or Write by who holds it; Fair if somebody stands in line
	Holders []Holder // the writer first; otherwise in no order
	Waiters []Waiter // who stands in line, in order

	// Listeners is how many processes wait to be told of the release of an
	// Exclusive lock. It is a hint.
	Listeners int
}

// A Holder is somebody who holds a lock.
type Holder struct {
	Name  string // as in Request.Holder
	Kind  Kind
	Count int           // how often it has entered
	Fence uint64        // zero if it has none, as a holder of another library
	Left  time.Duration // what remains of its lease; zero if it has no end
}

// A Waiter is somebody who stands in line.
type Waiter struct {
	Name string // as in Request.Holder
	Kind Kind
	Left time.Duration // for how long its place is kept
}

// A Member is a client of an engine.
type Member struct {
	ID    string    // what the names of its holders begin with
	Name  string    // what the program is called
	Host  string    // the machine's name
	PID   int       // the process's number
	Since time.Time // when it was made
}

// Match reports whether key matches pattern, in which * stands for any text and
// ? for any byte. Both are themselves after a backslash.
func Match(pattern, key string) bool {
	star, back := -1, 0 // where the last star was, and what it is tried up to
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
