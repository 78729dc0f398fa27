package redisengine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	errEmpty  = errors.New("redis: the key is empty: name the lock")
	errBraces = errors.New("braces must enclose a name, as in order:{42}, because they decide the slot of a key")
)

// name returns the Redis key of a lock. It refuses a brace that is not part of a hash
// tag: the keys of the lock would be in different slots of a cluster, as they are with
// Redisson.
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

// tagged reports whether Redis finds a hash tag in name. An empty tag does not count:
// Redis then hashes the whole key.
func tagged(name string) bool {
	_, after, found := strings.Cut(name, "{")
	return found && strings.IndexByte(after, '}') > 0
}

// relatedKey returns a key that belongs to a lock and is in the same slot. The rule is
// Redisson's: braces are added unless the name has some.
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

// leasePrefix is the prefix of the keys of single leases.
func leasePrefix(name string) string { return relatedKey("", name) }

// leaseKey is the key of the lease of a reader, or of a writer that also reads.
func leaseKey(name, holder string) string {
	return leasePrefix(name) + ":" + holder + ":rwlock_timeout:1"
}

// Interlock's own keys and channels.
func readerQueue(name string) string   { return relatedKey("interlock_readers:", name) }
func writerQueue(name string) string   { return relatedKey("interlock_writers:", name) }
func queueExpiry(name string) string   { return relatedKey("interlock_queue_expiry:", name) }
func queueLease(name string) string    { return relatedKey("interlock_queue_lease:", name) }
func permitQueue(name string) string   { return relatedKey("interlock_permit_queue:", name) }
func permitFences(name string) string  { return relatedKey("interlock_permits:", name) }
func revokedKey(name string) string    { return relatedKey("interlock_revoked:", name) }
func permitChannel(name string) string { return relatedKey("interlock_semaphore:", name) }
func latchChannel(name string) string  { return relatedKey("interlock_latch:", name) }

// quotaKey is the key of a quota, which is neither a lock nor a part of one.
func quotaKey(name string) string { return relatedKey("interlock_quota:", name) }

// noteKey is the key of a note, which is neither a lock nor a part of one.
func noteKey(name string) string { return relatedKey("interlock_note:", name) }

// clientKey is the key of a client's registration, and the channel on which the client
// is notified of revocations.
func clientKey(id string) string { return "interlock_client:" + id }

// auxiliaryPrefixes are the prefixes of keys that are not locks themselves.
var auxiliaryPrefixes = []string{
	"redisson_lock_token:", "redisson_lock_queue:", "redisson_lock_timeout:",
	"interlock_readers:", "interlock_writers:", "interlock_queue_expiry:", "interlock_queue_lease:", "interlock_permit_queue:", "interlock_permits:",
	"interlock_revoked:", "interlock_abandoned:", "interlock_client:", "interlock_note:", "interlock_quota:",
}

// isAuxiliary reports whether a key belongs to a lock without being one.
func isAuxiliary(name string) bool {
	return slices.ContainsFunc(auxiliaryPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// Keys and channels of a record, all in one slot.
func (e *Engine) lockEntry(name string) string     { return braced(e.locks, name) }
func (e *Engine) resultEntry(name string) string   { return braced(e.results, name) }
func (e *Engine) recordChannel(name string) string { return braced(e.settleChannel+":", name) }

// claimTombstone is the key of an abandoned claim. Attempts of claims are unique without
// a holder.
func (e *Engine) claimTombstone(name, attempt string) string {
	return braced(e.records+"abandoned:", name) + ":" + attempt
}

// braced returns a name after a prefix, in braces unless the name has a hash tag. A
// name that is in braces already gets another pair, so that it stays different from
// the name without braces.
func braced(prefix, name string) string {
	if strings.IndexByte(name, '{') >= 0 && !inBraces(name) {
		return prefix + name
	}
	return prefix + "{" + name + "}"
}

// unbraced reverses braced, except for the prefix.
func unbraced(text string) string {
	if inBraces(text) {
		return text[1 : len(text)-1]
	}
	return text
}

// inBraces reports whether a whole name is in braces. An empty pair is no hash tag.
func inBraces(text string) bool {
	return len(text) > 2 && text[0] == '{' && text[len(text)-1] == '}'
}

// tombstone is the key of an abandoned attempt. It names the holder, because attempts are
// unique only for one holder.
func tombstone(name, holder, attempt string) string {
	return relatedKey("interlock_abandoned:", name) + ":" + holder + ":" + attempt
}
