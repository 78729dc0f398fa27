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
func relatedKey(prefix, name string) string {
	if strings.IndexByte(name, '{') >= 0 {
		return prefix + name
	}
	return prefix + "{" + name + "}"
}

// Redisson's keys and channels.
func lockChannel(name string) string     { return relatedKey("redisson_lock__channel:", name) }
func fenceCounter(name string) string    { return relatedKey("redisson_lock_token:", name) }
func fairQueue(name string) string       { return relatedKey("redisson_lock_queue:", name) }
func fairQueueExpiry(name string) string { return relatedKey("redisson_lock_timeout:", name) }
func rwChannel(name string) string       { return relatedKey("redisson_rwlock:", name) }

// space is what the names of the keys begin with by which single leases run.
func leasePrefix(name string) string { return relatedKey("", name) }

// timeout is the key by which the lease of a reader runs, or of a writer that reads.
func leaseKey(name, who string) string { return leasePrefix(name) + ":" + who + ":rwlock_timeout:1" }

// Keys and channels of our own.
func readerQueue(name string) string   { return relatedKey("interlock_readers:", name) }
func writerQueue(name string) string   { return relatedKey("interlock_writers:", name) }
func queueExpiry(name string) string   { return relatedKey("interlock_places:", name) }
func queueLease(name string) string    { return relatedKey("interlock_lengths:", name) }
func permitQueue(name string) string   { return relatedKey("interlock_line:", name) }
func permitFences(name string) string  { return relatedKey("interlock_permits:", name) }
func revokedKey(name string) string    { return relatedKey("interlock_revoked:", name) }
func permitChannel(name string) string { return relatedKey("interlock_semaphore:", name) }
func latchChannel(name string) string  { return relatedKey("interlock_latch:", name) }

// noteKey is the key of a note.
func noteKey(name string) string { return relatedKey("interlock_note:", name) }

// client is the key of a client that is known, and the channel on which it hears
// of what was taken from it.
func clientKey(id string) string { return "interlock_client:" + id }

// auxiliaryPrefixes are what the names of keys begin with that belong to a lock.
var auxiliaryPrefixes = []string{
	"redisson_lock_token:", "redisson_lock_queue:", "redisson_lock_timeout:",
	"interlock_readers:", "interlock_writers:", "interlock_places:", "interlock_lengths:", "interlock_line:", "interlock_permits:",
	"interlock_revoked:", "interlock_abandoned:", "interlock_client:", "interlock_note:",
}

// belongs reports whether a key is no lock, but a part of one.
func isAuxiliary(name string) bool {
	return slices.ContainsFunc(auxiliaryPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// Keys and channels of a record, which lie in one slot.
func (e *Engine) lockEntry(name string) string      { return braced(e.locks, name) }
func (e *Engine) resultEntry(name string) string    { return braced(e.results, name) }
func (e *Engine) settledChannel(name string) string { return braced(e.settleChannel+":", name) }

func (e *Engine) claimTombstone(name, attempt string) string {
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
	return relatedKey("interlock_abandoned:", name) + ":" + holder + ":" + attempt
}
