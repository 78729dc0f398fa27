package redisengine

import (
	"fmt"
	"strings"
	"time"
)

const defaultTimeout = 2 * time.Second

// An Option configures an engine. Each option is also a parameter of the URL of [Open].
type Option func(*Engine)

// Prefix sets the prefix of the keys of locks and records. Default: none.
func Prefix(p string) Option {
	return func(e *Engine) { e.prefix = p }
}

const defaultRecords = "interlock:guard:"

// Records sets the prefix of the entries of records: for the key order:42 these are
// p + "lock:{order:42}" and p + "result:{order:42}". Default: "interlock:guard:". It
// panics if p has a brace, because braces decide the slot of a key.
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
		return fmt.Errorf("%q has a brace, and braces decide the slot of a key: leave them out", p)
	}
	return nil
}

// Timeout sets how long a call may take before its outcome is unknown. It is also how
// late a request may arrive and still be granted; see [engine.Capabilities]. Default:
// 2s, also for a d that is not above zero.
func Timeout(d time.Duration) Option {
	return func(e *Engine) {
		if d <= 0 {
			d = defaultTimeout
		}
		e.timeout = d
	}
}

// A PublishMode is the command that publishes releases.
type PublishMode string

// A subscriber of one command does not receive messages of the other, so all programs
// that share a lock must use the same command.
const (
	Plain   PublishMode = "PUBLISH"
	Sharded PublishMode = "SPUBLISH" // Redis 7 and later

	// Auto does what Redisson does: Sharded in a cluster that supports it, otherwise
	// Plain.
	Auto PublishMode = ""
)

// Publish sets the command that publishes releases. Default: [Auto].
func Publish(m PublishMode) Option {
	return func(e *Engine) { e.publish = m }
}

// Redisson declares that Redisson shares the locks. Fence counters then never expire,
// as its fenced locks expect; by default they outlast the last holder by two leases,
// and by at least 1 min. The release of a read/write lock is also published to all
// waiters, because clients of Redisson are not in Interlock's queues.
func Redisson() Option {
	return func(e *Engine) { e.redisson = true }
}
