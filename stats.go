package interlock

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/histogram"
	"github.com/interlock-go/interlock/internal/topk"
)

// Stats are the counters of a client since it was made.
type Stats struct {
	Live          int64         // locks held now
	Waiting       int64         // goroutines waiting for a lock now
	Acquired      uint64        // locks acquired, from the engine or by a handover
	HandedOver    uint64        // the part of Acquired that another holder of this process handed over
	Contended     uint64        // callers that gave up on a held lock
	Busy          uint64        // the part of Contended that made one attempt only
	TimedOut      uint64        // the part of Contended whose time set by Wait ran out
	Failed        uint64        // engine failures reported to a caller
	Renewed       uint64        // leases renewed
	RenewFailed   uint64        // renewals that failed and were retried
	Released      uint64        // locks released
	ReleaseFailed uint64        // releases that failed; the leases expired
	Lost          uint64        // locks lost before their release
	CleanedUp     uint64        // acquisitions without an answer that were undone
	Dropped       uint64        // holds ended by ReleaseAll or Close
	Unguarded     uint64        // runs of guarded work without a claim, while the engine was down
	Local         uint64        // runs of guarded work that only this process guarded
	Held          time.Duration // total time that locks were held
	Waited        time.Duration // total time that acquired locks were waited for
}

// Stats returns the counters. Clients made by [Client.With] share them.
func (c *Client) Stats() Stats {
	total := c.core.guardStats.stats()
	for _, s := range c.core.stats.all() {
		total.add(s.counters.stats())
	}
	return total
}

// LockStats are the counters of the locks of one business name and kind.
type LockStats struct {
	Name string // see [WithName]; "other" for the names after the first 1,000
	Kind Kind
	Stats
	LostBy map[string]uint64 // locks of Lost by reason; see [Lost.Reason]
	Wait   Histogram         // how long acquired locks were waited for
	Hold   Histogram         // how long locks were held
}

// A Histogram counts durations in buckets.
type Histogram = histogram.Snapshot

// LockStats returns the counters by business name and kind, in that order. Clients made
// by [Client.With] share them.
func (c *Client) LockStats() []LockStats {
	var all []LockStats
	for _, s := range c.core.stats.all() {
		stats := LockStats{Name: s.name, Kind: s.kind, Stats: s.counters.stats(), LostBy: make(map[string]uint64),
			Wait: s.wait.Snapshot(), Hold: s.hold.Snapshot()}
		for i, reason := range lossReasons {
			stats.LostBy[reason] = s.lostBy[i].Load()
		}
		all = append(all, stats)
	}
	return all
}

// Top lists the locks of this process that deserve a look, at most ten of each sort. Keys
// include the prefix. Its memory is bounded, whatever the number of keys.
type Top struct {
	Now       []TopHold // held now, the longest first
	LastHour  []TopHold // ended within the last hour, the longest first; exact
	Contended []TopKey  // the keys with most callers that could not have the lock at once
}

// A TopHold is a hold in [Top].
type TopHold struct {
	Name   string // the business name; see [WithName]
	Key    string
	Kind   Kind
	Holder string // as in logs; see [engine.ShortHolder]
	Fence  uint64
	Since  time.Time
	Held   time.Duration
}

// A TopKey is a contended key in [Top].
type TopKey struct {
	Name string // the business name of the last caller; see [WithName]
	Key  string
	Kind Kind

	// Callers is how often a caller began to wait, or gave up at once, within the last 30
	// to 60 minutes. A caller counts twice if it waits for a holder in this process and then
	// for one in another process. The number is too high by at most Error.
	Callers, Error uint64

	// Holder is the present holder if it is in this process, otherwise the last one that
	// a caller saw. Since is when the holder acquired the lock; zero if the holder is in
	// another process.
	Holder string
	Since  time.Time
}

// Top returns the longest holds and the most contended keys of this process. Clients made
// by [Client.With] share them. To see the holds of all processes, use [Client.Locks].
func (c *Client) Top() Top {
	now := time.Now()
	t := Top{}
	holders := make(map[string]TopHold) // one of each key
	for _, x := range c.core.watchdog.All() {
		h := x.(*lease).top(now)
		t.Now, holders[h.Key] = append(t.Now, h), h
	}
	slices.SortFunc(t.Now, func(a, b TopHold) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key)) })
	t.Now = slices.Clip(t.Now[:min(len(t.Now), topk.Kept)])
	for _, d := range c.core.longest.Top(now) {
		t.LastHour = append(t.LastHour, d.Of)
	}
	for _, x := range c.core.contended.Top(now, topk.Kept) {
		k := TopKey{Name: x.Last.name, Key: x.Key, Kind: x.Last.kind, Callers: x.N, Error: x.Error, Holder: engine.ShortHolder(x.Last.holder)}
		if h, ok := holders[x.Key]; ok {
			k.Holder, k.Since = h.Holder, h.Since
		}
		t.Contended = append(t.Contended, k)
	}
	return t
}

func (l *lease) top(now time.Time) TopHold {
	return TopHold{Name: l.opts.business, Key: l.req.Key, Kind: l.req.Kind, Holder: engine.ShortHolder(l.req.Holder), Fence: l.fence,
		Since: l.since, Held: now.Sub(l.since)}
}

// A contention is the last caller that could not have a lock at once.
type contention struct {
	name   string
	kind   Kind
	holder string // empty if the holder is in this process
}

// contend notes a caller that cannot have the lock at once.
func (m *Mutex) contend(now time.Time, holder string) {
	m.core.contended.Add(now, m.key, contention{m.opts.business, m.kind, holder})
}

func (s *Stats) add(t Stats) {
	s.Live += t.Live
	s.Waiting += t.Waiting
	s.Acquired += t.Acquired
	s.HandedOver += t.HandedOver
	s.Contended += t.Contended
	s.Busy += t.Busy
	s.TimedOut += t.TimedOut
	s.Failed += t.Failed
	s.Renewed += t.Renewed
	s.RenewFailed += t.RenewFailed
	s.Released += t.Released
	s.ReleaseFailed += t.ReleaseFailed
	s.Lost += t.Lost
	s.CleanedUp += t.CleanedUp
	s.Dropped += t.Dropped
	s.Unguarded += t.Unguarded
	s.Local += t.Local
	s.Held += t.Held
	s.Waited += t.Waited
}

type counters struct {
	live, waiting            atomic.Int64
	acquired, handedOver     atomic.Uint64
	contended, failed        atomic.Uint64
	busy, timedOut           atomic.Uint64
	renewed, renewFailed     atomic.Uint64
	released, releaseFailed  atomic.Uint64
	lost, cleanedUp, dropped atomic.Uint64
	unguarded, local         atomic.Uint64
	lostBy                   [len(lossReasons)]atomic.Uint64
	hold, wait               histogram.Histogram
}

func (c *counters) stats() Stats {
	return Stats{
		Live:          c.live.Load(),
		Waiting:       c.waiting.Load(),
		Acquired:      c.acquired.Load(),
		HandedOver:    c.handedOver.Load(),
		Contended:     c.contended.Load(),
		Busy:          c.busy.Load(),
		TimedOut:      c.timedOut.Load(),
		Failed:        c.failed.Load(),
		Renewed:       c.renewed.Load(),
		RenewFailed:   c.renewFailed.Load(),
		Released:      c.released.Load(),
		ReleaseFailed: c.releaseFailed.Load(),
		Lost:          c.lost.Load(),
		CleanedUp:     c.cleanedUp.Load(),
		Dropped:       c.dropped.Load(),
		Unguarded:     c.unguarded.Load(),
		Local:         c.local.Load(),
		Held:          c.hold.Sum(),
		Waited:        c.wait.Sum(),
	}
}

// countLost counts a lock that was lost.
func (c *counters) countLost(why error) {
	c.lost.Add(1)
	c.lostBy[slices.Index(lossReasons[:], lossReason(why))].Add(1)
}

// lossReasons are the words for the reasons of a loss.
var lossReasons = [...]string{"expired", "max-hold", "revoked", "closed", "switched", "not-holder"}

// lossReason returns the word for the reason of a loss.
func lossReason(why error) string {
	for i, err := range []error{ErrExpired, ErrMaxHold, ErrRevoked, ErrClosed, ErrSwitched} {
		if errors.Is(why, err) {
			return lossReasons[i]
		}
	}
	return "not-holder" // the engine no longer knew the hold
}

// maxNames bounds the names with counters of their own.
const maxNames = 1000

// otherName is the name of the counters that all further names share.
const otherName = "other"

// A statsTable has the counters of each business name and kind.
type statsTable struct {
	mu    sync.RWMutex
	names map[string]*namedCounters
}

// namedCounters are the counters of one business name, by kind. Those of a kind without
// locks are nil.
type namedCounters [engine.Latch + 1]atomic.Pointer[counters]

// of returns the counters of a name.
func (t *statsTable) of(name string) *namedCounters {
	t.mu.RLock()
	n := t.names[name]
	t.mu.RUnlock()
	if n != nil {
		return n
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names = make(map[string]*namedCounters)
	}
	if t.names[name] == nil && len(t.names) >= maxNames {
		name = otherName
	}
	if t.names[name] == nil {
		t.names[name] = new(namedCounters)
	}
	return t.names[name]
}

// kind returns the counters of a kind.
func (n *namedCounters) kind(k engine.Kind) *counters {
	p := &n[k]
	if c := p.Load(); c != nil {
		return c
	}
	p.CompareAndSwap(nil, new(counters))
	return p.Load()
}

// A series is the counters of one name and kind.
type series struct {
	name string
	kind engine.Kind
	*counters
}

// all returns the counters of all names and kinds, in that order.
func (t *statsTable) all() []series {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var all []series
	for name, n := range t.names {
		for kind := range n {
			if c := n[kind].Load(); c != nil {
				all = append(all, series{name, engine.Kind(kind), c}) //nolint:gosec // an index of a small array
			}
		}
	}
	slices.SortFunc(all, func(a, b series) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind)) })
	return all
}
