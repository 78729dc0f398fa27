package redisengine

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A kind is how the server keeps locks of another kind than Exclusive.
type kind struct {
	acquire, release *Script

	// channel is where a release is made known to all.
	channel func(name string) string

	// keys are those that both scripts are given besides the lock.
	keys func(name string) []string
}

var kinds = map[engine.Kind]*kind{
	engine.Fair: {
		acquire: script("acquire_fair", "clock", "acquire_common", "queue"),
		release: script("release_fair", "clock", "release_common", "queue"),
		channel: lockChannel,
		keys:    func(name string) []string { return []string{fairQueue(name), fairQueueExpiry(name), queueLease(name)} },
	},
	engine.Read: {
		acquire: script("acquire_read", "clock", "acquire_common", "queue", "arrival_queue", "lock_format", "readwrite"),
		release: script("release_read", "clock", "release_common", "rw_notify", "queue", "arrival_queue", "lock_format", "readwrite"),
		channel: rwChannel,
		keys: func(name string) []string {
			return []string{readerQueue(name), writerQueue(name), queueExpiry(name), queueLease(name)}
		},
	},
	engine.Write: {
		acquire: script("acquire_write", "clock", "acquire_common", "queue", "arrival_queue", "lock_format", "readwrite"),
		release: script("release_write", "clock", "release_common", "rw_notify", "queue", "arrival_queue", "lock_format", "readwrite"),
		channel: rwChannel,
		keys: func(name string) []string {
			return []string{writerQueue(name), readerQueue(name), queueExpiry(name), queueLease(name)}
		},
	},
	engine.Permit: {
		acquire: script("acquire_permit", "clock", "acquire_common", "queue", "arrival_queue", "lock_format"),
		release: script("release_permit", "clock", "release_common", "queue", "arrival_queue"),
		channel: permitChannel,
		keys: func(name string) []string {
			return []string{permitFences(name), permitQueue(name), queueExpiry(name), queueLease(name)}
		},
	},
}

// maxQueueLease is how long a place in line is kept at most. Who seems to keep one
// for longer is taken for a client of another library with a wrong clock.
const maxQueueLease = 24 * time.Hour

// kindArgs are those that only locks of r's kind have in their acquire scripts.
func (e *Engine) kindArgs(c *Call, name string, r *engine.Request) {
	switch r.Kind {
	case engine.Read:
		c.args(strconv.Itoa(engine.MaxReaders), leasePrefix(name))
	case engine.Write:
		c.args(leasePrefix(name))
	case engine.Permit:
		c.args(strconv.Itoa(r.Limit), string(e.publish), permitChannel(name))
	}
}

// unfit tells what is wrong with a request of another kind than Exclusive.
func checkKind(r *engine.Request) error {
	switch r.Kind {
	case engine.Fair:
		return nil
	case engine.Read, engine.Write:
		if strings.HasSuffix(r.Holder, ":write") || strings.Contains(r.Attempt, " ") {
			return fmt.Errorf("redis: holder %q with attempt %q: a name that ends in :write, or an attempt with a space, "+
				"has another meaning in a read/write lock: use ones like uuid:number", r.Holder, r.Attempt)
		}
		return nil
	case engine.Permit:
		if strings.Contains(r.Holder, "/") {
			return fmt.Errorf("redis: holder %q: a slash has another meaning in a permit: use one like uuid:number", r.Holder)
		}
		return nil
	case engine.Latch:
		return fmt.Errorf("redis: %q: nobody holds a latch: count it down with CountDown", r.Key)
	}
	return fmt.Errorf("redis: %q: there are no locks of kind %d: use one of the constants of package engine", r.Key, r.Kind)
}
