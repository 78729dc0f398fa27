package main

import (
	"context"
	"strings"
	"time"
)

// A contender is a way to take a lock that is measured beside the others.
type contender struct {
	name string

	// sends are the commands that it sends itself, in lower case. Whatever else
	// the server counts ran inside of its scripts.
	sends []string

	open func(ctx context.Context, addr string) (locks, error)
}

// locks is what a contender can do once it is connected. Only cycle and close
// are always there.
type locks struct {
	// cycle takes the lock and gives it back.
	cycle func(ctx context.Context, key string) error

	// lock waits for the lock.
	lock func(ctx context.Context, key string) (unlock func() error, err error)

	// try makes one attempt. It returns neither unlock nor err if the lock is held.
	try func(ctx context.Context, key string) (unlock func() error, err error)

	close func()
}

// lifetime is how long a lock survives its holder where the caller has to say:
// longer than anything here takes.
const lifetime = 10 * time.Second

// The rows that others are compared with, by name.
const (
	plainRow   = "Interlock"
	redsyncRow = "redsync"
)

// uncontended returns the rows of the tables about uncontended locks.
func uncontended(s *scripts) []contender {
	return []contender{
		interlocked(plainRow),
		interlocked("Interlock, fenced", fenced...),
		redsynced(redsyncRow, 0),
		redislocked("bsm/redislock", 0),
		engineOnly(s),
		rawScripts("raw rueidis, our two scripts", s),
		rawSet("raw rueidis, SET NX and compare-delete"),
	}
}

// contended are the rows of the tables about one lock that many wait for. Those
// who poll do so at their default, or at a usual pace, and at a fast one.
func contended() []contender {
	return []contender{
		interlocked(plainRow),
		interlocked("Interlock, fenced", fenced...),
		redsynced(redsyncRow, 0),
		redsynced("redsync, every 5 ms", 5*time.Millisecond),
		redislocked("bsm/redislock, every 100 ms", 100*time.Millisecond),
		redislocked("bsm/redislock, every 5 ms", 5*time.Millisecond),
		redislocked("bsm/redislock, every 1 ms", time.Millisecond),
	}
}

// storming are the rows of the table about one lock that many ask for at once.
func storming() []contender {
	return []contender{
		interlocked(plainRow),
		interlocked("Interlock, fenced", fenced...),
		redsynced(redsyncRow, 0),
		redislocked("bsm/redislock", 0),
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
