package admin

import (
	"strings"
	"time"

	"github.com/interlock-go/interlock"
)

// A LockEvent is the data of an event about a lock.
type LockEvent struct {
	Key      string `json:"key"` // as in the list of locks
	Kind     string `json:"kind,omitempty"`
	Owner    string `json:"owner,omitempty"` // a hash of the holder
	Fence    uint64 `json:"fence,omitempty"`
	WaitedMS int64  `json:"waited_ms,omitempty"`
	HeldMS   int64  `json:"held_ms,omitempty"`
	LeaseMS  int64  `json:"lease_ms,omitempty"`
	Error    string `json:"error,omitempty"`
}

// Trace returns a trace that publishes the events of a client's locks. Give it to the
// client with [interlock.WithTrace].
func (e *Events) Trace() *interlock.Trace {
	// A trace must not block a lock. Publishing never waits for a stream.
	return &interlock.Trace{
		Waiting: func(x interlock.Waiting) {
			e.publishLock("lock.waiting", LockEvent{Key: x.Key, Kind: x.Kind.String(), Owner: owner(x.Holder)})
		},
		Acquired: func(x interlock.Acquired) {
			e.publishLock("lock.acquired", LockEvent{
				Key: x.Key, Kind: x.Kind.String(), Owner: owner(x.Holder), Fence: x.Fence, WaitedMS: millis(x.Waited), LeaseMS: millis(x.Lease),
			})
		},
		Contended: func(x interlock.Contended) {
			e.publishLock("lock.contended", LockEvent{Key: x.Key, Kind: x.Kind.String(), Owner: owner(x.Holder), WaitedMS: millis(x.Waited), Error: lockError(x.Err, x.Holder)})
		},
		Released: func(x interlock.Released) {
			e.publishLock("lock.released", LockEvent{Key: x.Key, Kind: x.Kind.String(), Owner: owner(x.Holder), Fence: x.Fence, HeldMS: millis(x.Held)})
		},
		Lost: func(x interlock.Lost) {
			e.publishLock("lock.lost", LockEvent{
				Key: x.Key, Kind: x.Kind.String(), Owner: owner(x.Holder), Fence: x.Fence, HeldMS: millis(x.Held), Error: lockError(x.Err, x.Holder),
			})
		},
	}
}

// owner returns a hash of a holder's id. The id itself would allow its reader to release the
// lock.
func owner(holder string) string {
	if holder == "" {
		return ""
	}
	return hashed(holder)
}

// text returns the text of an error; empty for nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// lockError is text with a hash in place of the holder.
func lockError(err error, holder string) string {
	if holder == "" {
		return text(err)
	}
	return strings.ReplaceAll(text(err), holder, owner(holder))
}

const (
	heartbeat    = 15 * time.Second       // so that proxies do not close an idle stream
	batch        = 100 * time.Millisecond // between two writes, so that many events share one
	writeTimeout = 10 * time.Second       // for a client that does not read
)
