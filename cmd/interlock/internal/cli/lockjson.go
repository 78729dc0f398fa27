package cli

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock"
)

// lockList is what lock ls writes for programs. The names are those of the admin
// API.
type lockList struct {
	Locks []lockJSON `json:"locks"`
	More  bool       `json:"more"` // there are more than --limit
}

// lockJSON is a lock.
type lockJSON struct {
	Key       string       `json:"key"`
	Kind      string       `json:"kind"`
	Holders   []holderJSON `json:"holders"`
	Waiters   []holderJSON `json:"waiters"` // who stands in line, in order
	Listeners int          `json:"listeners"`
}

// holderJSON is somebody who holds a lock or stands in line for it.
type holderJSON struct {
	Owner  string      `json:"owner"`
	Kind   string      `json:"kind"`
	Count  int         `json:"count,omitempty"`
	Fence  uint64      `json:"fence,omitempty"`
	TTL    int64       `json:"ttl_ms"` // of its lease, or of its place in line; 0 if it has no end
	Client *clientJSON `json:"client,omitempty"`
}

// clientJSON is a program.
type clientJSON struct {
	Name  string    `json:"name"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// releaseJSON is what lock release writes.
type releaseJSON struct {
	Lock   lockJSON `json:"lock"` // as it was
	Reason string   `json:"reason"`
	By     string   `json:"by"`
	DryRun bool     `json:"dry_run"`
}

func lockOf(i interlock.LockInfo) lockJSON {
	l := lockJSON{Key: i.Key, Kind: i.Kind.String(), Listeners: i.Listeners, Holders: []holderJSON{}, Waiters: []holderJSON{}}
	for _, h := range i.Holders {
		l.Holders = append(l.Holders, holderJSON{h.Holder, h.Kind.String(), h.Count, h.Fence, h.Left.Milliseconds(), clientOf(h.Client)})
	}
	for _, w := range i.Waiters {
		l.Waiters = append(l.Waiters, holderJSON{w.Holder, w.Kind.String(), 0, 0, w.Left.Milliseconds(), clientOf(w.Client)})
	}
	return l
}

func clientOf(c *interlock.ClientInfo) *clientJSON {
	if c == nil {
		return nil
	}
	return &clientJSON{c.Name, c.Host, c.PID, c.Since}
}

// waiting is how many wait, as far as the engine can tell: who stands in line may
// listen, too.
func (l lockJSON) waiting() int { return max(len(l.Waiters), l.Listeners) }

func (h holderJSON) left() time.Duration { return time.Duration(h.TTL) * time.Millisecond }

// who names a program by where it runs, and one that is not known by its owner.
func (h holderJSON) who() string {
	if h.Client == nil {
		return h.Owner
	}
	return fmt.Sprintf("%s@%s/%d", h.Client.Name, h.Client.Host, h.Client.PID)
}
