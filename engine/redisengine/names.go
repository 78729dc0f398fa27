package redisengine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	errEmpty  = errors.New("redis: the key is empty: name what is to be locked")
	errBraces = errors.New("braces must hold a name, as in order:{42}, since they decide where Redis keeps a key")
)

// name returns the name of the Redis key that holds the lock. A brace that does
// not belong to a hash tag is refused: the keys of one lock would then lie in
// different slots of a cluster, as they do with Redisson.
func (e *Engine) name(key string) (string, error) {
	if key == "" {
		return "", errEmpty
	}
	if e.prefix != "" {
		key = e.prefix + key
	}
	if strings.ContainsAny(key, "{}") && !tagged(key) {
		return "", fmt.Errorf("redis: %q: %w", key, errBraces)
	}
	return key, nil
}

// tagged reports whether Redis finds a hash tag in name.
func tagged(name string) bool {
	_, after, found := strings.Cut(name, "{")
	return found && strings.IndexByte(after, '}') > 0
}

// beside returns the name of a key that belongs to the lock and lies in its
// slot. It is Redisson's rule: braces are added unless the name has its own.
func beside(prefix, name string) string {
	if strings.IndexByte(name, '{') >= 0 {
		return prefix + name
	}
	return prefix + "{" + name + "}"
}

// Redisson's keys and channels.
func channel(name string) string     { return beside("redisson_lock__channel:", name) }
func counter(name string) string     { return beside("redisson_lock_token:", name) }
func queue(name string) string       { return beside("redisson_lock_queue:", name) }
func queuePlaces(name string) string { return beside("redisson_lock_timeout:", name) }
func rwChannel(name string) string   { return beside("redisson_rwlock:", name) }

// space is what the names of the keys begin with by which single leases run.
func space(name string) string { return beside("", name) }

// timeout is the key by which the lease of a reader runs, or of a writer that reads.
func timeout(name, who string) string { return space(name) + ":" + who + ":rwlock_timeout:1" }

// Keys and channels of our own.
func readers(name string) string       { return beside("interlock_readers:", name) }
func writers(name string) string       { return beside("interlock_writers:", name) }
func places(name string) string        { return beside("interlock_places:", name) }
func lengths(name string) string       { return beside("interlock_lengths:", name) }
func line(name string) string          { return beside("interlock_line:", name) }
func permits(name string) string       { return beside("interlock_permits:", name) }
func revoked(name string) string       { return beside("interlock_revoked:", name) }
func permitChannel(name string) string { return beside("interlock_semaphore:", name) }
func latchChannel(name string) string  { return beside("interlock_latch:", name) }

// noteKey is the key of a note.
func noteKey(name string) string { return beside("interlock_note:", name) }

// client is the key of a client that is known, and the channel on which it hears
// of what was taken from it.
func client(id string) string { return "interlock_client:" + id }

// beganWith are what the names of keys begin with that belong to a lock.
var beganWith = []string{
	"redisson_lock_token:", "redisson_lock_queue:", "redisson_lock_timeout:",
	"interlock_readers:", "interlock_writers:", "interlock_places:", "interlock_lengths:", "interlock_line:", "interlock_permits:",
	"interlock_revoked:", "interlock_abandoned:", "interlock_client:", "interlock_note:",
}

// belongs reports whether a key is no lock, but a part of one.
func belongs(name string) bool {
	return slices.ContainsFunc(beganWith, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// Keys and channels of a record, which lie in one slot.
func (e *Engine) lockEntry(name string) string      { return braced(e.locks, name) }
func (e *Engine) resultEntry(name string) string    { return braced(e.results, name) }
func (e *Engine) settledChannel(name string) string { return braced(e.lobby+":", name) }

func (e *Engine) disowned(name, attempt string) string {
	return braced(e.records+"abandoned:", name) + ":" + attempt
}

// braced returns a name behind a prefix, in braces unless it has a hash tag of its
// own. One that looks as if it were in braces already gets them as well, so that it
// is not taken for another.
func braced(prefix, name string) string {
	if strings.IndexByte(name, '{') >= 0 && !inBraces(name) {
		return prefix + name
	}
	return prefix + "{" + name + "}"
}

// unbraced undoes braced, but for the prefix.
func unbraced(text string) string {
	if inBraces(text) {
		return text[1 : len(text)-1]
	}
	return text
}

func inBraces(text string) bool {
	return len(text) > 2 && text[0] == '{' && text[len(text)-1] == '}'
}

func tombstone(name, holder, attempt string) string {
	return beside("interlock_abandoned:", name) + ":" + holder + ":" + attempt
}
