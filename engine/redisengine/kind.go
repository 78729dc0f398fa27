package redisengine

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A kind has the scripts, keys and channel of one kind of lock.
type kind struct {
	acquire, release *Script

	// channel returns the channel on which a release is published to all waiters.
	channel func(name string) string

	// keys returns the keys that both scripts need besides the lock.
	keys func(name string) []string
}

// kinds has the scripts of each kind. A shared file may use only the files that are listed
// before it.
var kinds = map[engine.Kind]*kind{
	engine.Exclusive: {
		acquire: script("acquire", "clock", "acquire_common", "exclusive"),
		release: script("release", "release_common"),
		channel: lockChannel,
		keys:    func(string) []string { return nil },
	},
	engine.Fair: {
		acquire: script("acquire_fair", "clock", "acquire_common", "exclusive", "queue"),
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
	// The queues are in another order than for readers: each script names its own queue
	// first.
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

// maxQueueLease is the longest reservation of a queue position. The scripts treat a
// longer one as an error: another library's client has written it with a wrong clock.
const maxQueueLease = 24 * time.Hour

// kindArgs adds the arguments that only the acquire script of r's kind has.
func (e *Engine) kindArgs(c *Call, name string, r *engine.Request) {
	switch r.Kind {
	case engine.Fair:
		c.args(string(e.mode()), lockChannel(name))
	case engine.Read:
		c.args(strconv.Itoa(engine.MaxReaders), leasePrefix(name))
	case engine.Write:
		c.args(leasePrefix(name))
	case engine.Permit:
		c.args(strconv.Itoa(r.Limit), string(e.mode()), permitChannel(name))
	}
}

// checkKind refuses an unknown kind, and names that the format of r's kind cannot
// hold.
func checkKind(r *engine.Request) error {
	switch r.Kind {
	case engine.Exclusive, engine.Fair:
		return nil
	case engine.Read, engine.Write:
		// The suffix marks the writer in the hash, and spaces separate the attempts of a
		// holder.
		if strings.HasSuffix(r.Holder, ":write") || strings.Contains(r.Attempt, " ") {
			return fmt.Errorf("redis: holder %q with attempt %q: in a read/write lock a holder must not end in :write, "+
				"and an attempt must not have a space: use names like uuid:number", r.Holder, r.Attempt)
		}
		return nil
	case engine.Permit:
		// A permit is stored as holder/attempt; see permitName.
		if strings.Contains(r.Holder, "/") {
			return fmt.Errorf("redis: holder %q: the holder of a permit must not have a slash: use a name like uuid:number", r.Holder)
		}
		return nil
	case engine.Latch:
		return fmt.Errorf("redis: %q: a latch has no holder: count it down with CountDown", r.Key)
	}
	return fmt.Errorf("redis: %q: kind %d does not exist: use a constant of package engine", r.Key, r.Kind)
}
