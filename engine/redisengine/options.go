package redisengine

import (
	"fmt"
	"strings"
	"time"
)

// defaultTimeout is how long a call waits for its answer.
const defaultTimeout = 2 * time.Second

// An Option changes how an engine works. [Open] takes each of them as a
// parameter of its URL, too.
type Option func(*Engine)

// Prefix is put before the name of every lock. There is none by default.
func Prefix(p string) Option {
	return func(e *Engine) { e.prefix = p }
}

// defaultRecords is what the names of records begin with.
const defaultRecords = "interlock:guard:"

// Records is put before the names of the entries that say what became of work: for
// the key order:42 those are p + "lock:{order:42}" and p + "result:{order:42}". The
// default is "interlock:guard:". It panics if p has a brace, since those decide
// where Redis keeps a key.
func Records(p string) Option {
	if err := checkRecords(p); err != nil {
		panic("redis: Records: " + err.Error())
	}
	return func(e *Engine) {
		e.records, e.locks, e.results, e.settleChannel = p, p+"lock:", p+"result:", p+"settled"
	}
}

func checkRecords(p string) error {
	if strings.ContainsAny(p, "{}") {
		return fmt.Errorf("%q has a brace, and those decide where Redis keeps a key: leave them out", p)
	}
	return nil
}

// Timeout is how long a call may take before its outcome is unknown. The default
// is 2 s, also for a d that is not above zero. It is also how late a request may arrive and still be granted; see
// [engine.Capabilities].
func Timeout(d time.Duration) Option {
	return func(e *Engine) {
		if d <= 0 {
			d = defaultTimeout
		}
		e.timeout = d
	}
}

// A PublishMode is the command by which a release is made known.
type PublishMode string

// The two commands, which do not hear each other: all programs that share a lock
// must use the same.
const (
	Plain   PublishMode = "PUBLISH"
	Sharded PublishMode = "SPUBLISH" // Redis 7 and later

	// Auto is what Redisson does: Sharded in a cluster of servers that know it, and
	// Plain everywhere else.
	Auto PublishMode = ""
)

// Publish chooses the command by which a release is made known. The default is
// [Auto].
func Publish(m PublishMode) Option {
	return func(e *Engine) { e.publish = m }
}

// Redisson says that locks are shared with Redisson. The fence counters then last
// for ever, as its fenced locks expect; by default they are kept for two leases, and
// no less than a minute, after the last one who held the lock. And the release of a
// read/write lock is told to all who wait besides the writer of ours who comes next,
// since clients of Redisson stand in no line of ours.
func Redisson() Option {
	return func(e *Engine) { e.redisson = true }
}
