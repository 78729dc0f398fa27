package main

import (
	"context"
	"strings"
	"time"
)

// A contender is one implementation that is measured.
type contender struct {
	name string

	// sends are the commands that its client sends, in lower case. All other commands
	// that the server counts ran inside scripts.
	sends []string

	open func(ctx context.Context, addr string) (locks, error)
}

// locks are the operations of a connected contender. Only cycle and close are always
// set.
type locks struct {
	// cycle acquires and releases the lock.
	cycle func(ctx context.Context, key string) error

	// lock waits for the lock.
	lock func(ctx context.Context, key string) (unlock func() error, err error)

	// try makes one attempt. If the lock is held, both results are nil.
	try func(ctx context.Context, key string) (unlock func() error, err error)

	close func()
}

// lockLease is the lease in libraries without a default lease. No measurement takes longer.
const lockLease = 10 * time.Second

// The names of the rows that are baselines.
const (
	plainRow   = "Interlock"
	redsyncRow = "redsync"
)

// uncontended returns the rows of the tables about uncontended locks.
func uncontended(s *scripts) []contender {
	return []contender{
		interlockContender(plainRow),
		interlockContender("Interlock, fenced", fenced...),
		redsyncContender(redsyncRow, 0),
		redislockContender("bsm/redislock", 0),
		engineOnly(s),
		rawScripts("raw rueidis, our two scripts", s),
		rawSet("raw rueidis, SET NX and compare-delete"),
	}
}

// contended returns the rows of the tables about one lock with many waiters. Libraries
// that poll have several rows: the default or a usual interval, and shorter intervals.
func contended() []contender {
	return []contender{
		interlockContender(plainRow),
		interlockContender("Interlock, fenced", fenced...),
		redsyncContender(redsyncRow, 0),
		redsyncContender("redsync, every 5 ms", 5*time.Millisecond),
		redislockContender("bsm/redislock, every 100 ms", 100*time.Millisecond),
		redislockContender("bsm/redislock, every 5 ms", 5*time.Millisecond),
		redislockContender("bsm/redislock, every 1 ms", time.Millisecond),
	}
}

// stormRows returns the rows of the table about one lock that many callers try at once.
func stormRows() []contender {
	return []contender{
		interlockContender(plainRow),
		interlockContender("Interlock, fenced", fenced...),
		redsyncContender(redsyncRow, 0),
		redislockContender("bsm/redislock", 0),
		rawSet("raw rueidis, SET NX and compare-delete"),
	}
}

// selected returns the contenders whose name contains one of the given parts.
func selected(all []contender, parts string) []contender {
	if parts == "" {
		return all
	}
	var some []contender
	for _, c := range all {
		for part := range strings.SplitSeq(parts, ";") {
			if strings.Contains(c.name, strings.TrimSpace(part)) {
				some = append(some, c)
				break
			}
		}
	}
	return some
}
