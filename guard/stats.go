package guard

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/histogram"
)

// Stats are the counters of the guards with one name on one client. A new guard of the
// name continues them, so that a reload does not reset them.
type Stats struct {
	Running    int64               // claims held now
	Waiting    int64               // duplicates waiting now
	Asked      uint64              // claims sent to the engine; for an in-process engine, claims granted
	Coalesced  uint64              // calls answered in this process, without a round trip
	Verdicts   map[Verdict]uint64  // calls by verdict
	Endings    map[Ending]uint64   // claims by ending
	Lost       uint64              // claims lost while the work ran
	Renewed    uint64              // claims renewed
	NotRenewed uint64              // renewals that failed and were retried
	CleanedUp  uint64              // claims without a reply that were undone
	Took       time.Duration       // time from claim to settlement, summed over all claims
	Waited     time.Duration       // time waited, summed over all calls
	Local      uint64              // claims that only this process knew of; see [Claim.Local]
	Execution  interlock.Histogram // time from claim to settlement
	Wait       interlock.Histogram // time waited
}

// verdicts and endings list all values, in the order of their counters.
var (
	verdicts = [...]Verdict{Granted, Replayed, Refused, Mismatch, UnknownBefore, FailedBefore, NoResult, Unguarded, Down, GaveUp}
	endings  = [...]Ending{Completed, Tombstoned, KeptError, Freed, LeftUnknown, Late, NotStored, StoredLate}
)

type counters struct {
	running, waiting    atomic.Int64
	asked, coalesced    atomic.Uint64
	verdicts            [len(verdicts)]atomic.Uint64
	endings             [len(endings)]atomic.Uint64
	lost, cleanedUp     atomic.Uint64
	local               atomic.Uint64
	renewed, notRenewed atomic.Uint64
	took, waited        histogram.Histogram
}

func (c *counters) countVerdict(v Verdict) { count(verdicts[:], c.verdicts[:], v) }
func (c *counters) countEnding(e Ending)   { count(endings[:], c.endings[:], e) }

func count[V comparable](values []V, counts []atomic.Uint64, value V) {
	for i, v := range values {
		if v == value {
			counts[i].Add(1)
			return
		}
	}
}

func (c *counters) stats() Stats {
	s := Stats{
		Running: c.running.Load(), Waiting: c.waiting.Load(),
		Asked: c.asked.Load(), Coalesced: c.coalesced.Load(),
		Verdicts: make(map[Verdict]uint64), Endings: make(map[Ending]uint64),
		Lost: c.lost.Load(), Local: c.local.Load(), CleanedUp: c.cleanedUp.Load(),
		Renewed: c.renewed.Load(), NotRenewed: c.notRenewed.Load(),
		Took: c.took.Sum(), Waited: c.waited.Sum(), Execution: c.took.Snapshot(), Wait: c.waited.Snapshot(),
	}
	for i, v := range verdicts {
		s.Verdicts[v] = c.verdicts[i].Load()
	}
	for i, e := range endings {
		s.Endings[e] = c.endings[i].Load()
	}
	return s
}

// maxNames bounds the names with counters of their own. Further names share those of
// otherName.
const (
	maxNames  = 1000
	otherName = "other"
)

// A statsTable has the counters of the guards of a client, by name.
type statsTable struct {
	mu    sync.Mutex
	names map[string]*counters
}

type statsKey struct{}

func statsOf(client *interlock.Client) *statsTable {
	return client.Shared(statsKey{}, func() any { return &statsTable{names: make(map[string]*counters)} }).(*statsTable)
}

// of returns the counters of a name.
func (t *statsTable) of(name string) *counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names[name] == nil && len(t.names) >= maxNames {
		name = otherName
	}
	if t.names[name] == nil {
		t.names[name] = new(counters)
	}
	return t.names[name]
}

// StatsOf returns the counters of all guards on a client by name, those of closed guards
// included. Names after the first 1,000 are counted as "other".
func StatsOf(client *interlock.Client) map[string]Stats {
	t := statsOf(client)
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]Stats, len(t.names))
	for name, c := range t.names {
		all[name] = c.stats()
	}
	return all
}
