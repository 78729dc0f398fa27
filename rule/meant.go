package rule

import (
	"fmt"
	"slices"
	"strings"
)

// foreignNames maps option names of other libraries to ours.
var foreignNames = map[string]string{
	"type": "kind", "lockType": "kind", "model": "kind",
	"keys": "key", "id": "key",
	"waitTime": "wait", "acquireTimeout": "wait", "timeout": "wait", "tryLock": "wait",
	"leaseTime": "lease", "expire": "lease", "expireTime": "lease", "ttl": "lease", "expiry": "lease",
	"permitsPerSecond": "rate", "limit": "rate", "count": "rate", "timezone": "zone",
	"interval": "window", "durationTime": "window",
	"prefix": "name", "lockName": "name",
	"condition": "when", "if": "when", "context": "ctx",
	"fallback": "on-timeout", "lockTimeoutStrategy": "on-timeout", "customLockTimeoutStrategy": "on-timeout", "timeoutStrategy": "on-timeout",
}

// Meant returns the valid name that the author of an unknown name probably meant: the
// unknown name has a typing error, or comes from another library. It returns "" if there
// is no good guess.
func Meant(name string, names []string) string {
	if option, ok := foreignNames[name]; ok && slices.Contains(names, option) {
		return option
	}
	return nearest(name, names)
}

// unknownOption returns the message for an unknown option.
func unknownOption(v Verb, name string) string {
	names := namesFor(v)
	if option, ok := foreignNames[name]; ok && slices.Contains(names, option) {
		return fmt.Sprintf("unknown option %q (use %s)", name, option)
	}
	if name == "unit" || name == "timeUnit" {
		return fmt.Sprintf("unknown option %q (write the unit with the duration: 3s, 500ms, 2m)", name)
	}
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf("unknown option %q (did you mean %s?)", shorten(name), near)
	}
	return fmt.Sprintf("unknown option %q (%s has %s)", shorten(name), v, strings.Join(names, ", "))
}

// misplaced returns the message for an option of another verb.
func misplaced(v Verb, name string) string {
	if v == Limit {
		return misplacedInLimit(name)
	}
	switch name {
	case "rate", "zone", "on-limit":
		return fmt.Sprintf("%s is for limit: %s does not count calls", name, v)
	case "on-error":
		return "on-error is for once, submit and limit: a lock stores nothing after the work"
	case "on-timeout":
		return fmt.Sprintf("on-timeout is for lock: with %s use on-duplicate=refuse, wait or skip", v)
	case "kind":
		return fmt.Sprintf("kind is for lock: %s always runs one call at a time", v)
	case "on-down":
		return "on-down is for once and submit: a lock fails if its engine is down; package standby switches to a second engine"
	case "window":
		return "window is for once and submit: a lock ends with the work; to refuse repeats, use submit"
	}
	return fmt.Sprintf("%s is for once and submit: a lock stores nothing after the work", name)
}

// misplacedInLimit returns the message for an option of another verb in a limit.
func misplacedInLimit(name string) string {
	switch name {
	case "on-timeout":
		return "on-timeout is for lock: with limit use on-limit"
	case "window":
		return "window is for once and submit: a limit has its window in the rate, as in rate=3/day or rate=5/10m"
	case "on-down":
		return "on-down is for once and submit: a limit refuses calls while its engine is down"
	}
	return fmt.Sprintf("%s is not for limit, which counts calls: leave it out", name)
}

// unknownWord returns the message for an invalid value.
func unknownWord[W ~string](option string, value W, words ...W) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	if near := nearest(string(value), list); near != "" {
		return fmt.Sprintf("%s=%s: did you mean %s? (%s)", option, shorten(string(value)), near, strings.Join(list, ", "))
	}
	return fmt.Sprintf("%s=%s: choose one of %s", option, shorten(string(value)), strings.Join(list, ", "))
}

// nearest returns the word with the fewest typing errors, at most two, or "".
func nearest(s string, words []string) string {
	best, least := "", 3
	for _, w := range words {
		if d := distance(strings.ToLower(s), w); d < least && d < len(w) && 2*d <= len(s) {
			best, least = w, d
		}
	}
	return best
}

// distance returns the edit distance of a and b. Swapping two neighbours is one edit.
func distance(a, b string) int {
	if len(a) > 2*len(b)+2 {
		return len(a) // far apart
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
