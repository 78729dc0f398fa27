package redisengine

import (
	"errors"
	"fmt"
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

func channel(name string) string { return beside("redisson_lock__channel:", name) }
func counter(name string) string { return beside("redisson_lock_token:", name) }

func tombstone(name, holder, attempt string) string {
	return beside("interlock_abandoned:", name) + ":" + holder + ":" + attempt
}
