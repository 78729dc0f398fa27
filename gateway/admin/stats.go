package admin

import (
	"context"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/standby"
	"github.com/interlock-go/interlock/guard"
)

// Stats are the counters of this process.
type Stats struct {
	Locks   LockStats             `json:"locks"`
	Guards  map[string]GuardStats `json:"guards" doc:"By name."`
	Standby *StandbyStats         `json:"standby,omitempty" doc:"Only with a standby engine."`
}

// LockStats are the counters of locks.
type LockStats struct {
	Live          int64  `json:"live" doc:"Locks held now."`
	Waiting       int64  `json:"waiting" doc:"Callers waiting now."`
	Acquired      uint64 `json:"acquired"`
	HandedOver    uint64 `json:"handed_over" doc:"Acquired by handover within this process."`
	Contended     uint64 `json:"contended" doc:"Attempts that ended because another holder had the lock."`
	Failed        uint64 `json:"failed" doc:"Engine failures returned to a caller."`
	Renewed       uint64 `json:"renewed"`
	RenewFailed   uint64 `json:"renew_failed"`
	Released      uint64 `json:"released"`
	ReleaseFailed uint64 `json:"release_failed"`
	Lost          uint64 `json:"lost"`
	CleanedUp     uint64 `json:"cleaned_up"`
	Dropped       uint64 `json:"dropped"`
	HeldMS        int64  `json:"held_ms" doc:"Total time held, of locks that were released or lost."`
	WaitedMS      int64  `json:"waited_ms" doc:"Total wait, of locks that were acquired."`
}

// GuardStats are the counters of one guard.
type GuardStats struct {
	Running    int64             `json:"running"`
	Waiting    int64             `json:"waiting"`
	Asked      uint64            `json:"asked"`
	Coalesced  uint64            `json:"coalesced"`
	Verdicts   map[string]uint64 `json:"verdicts" doc:"Calls, by verdict."`
	Endings    map[string]uint64 `json:"endings" doc:"Claims, by ending."`
	Lost       uint64            `json:"lost"`
	Renewed    uint64            `json:"renewed"`
	NotRenewed uint64            `json:"not_renewed"`
	CleanedUp  uint64            `json:"cleaned_up"`
	TookMS     int64             `json:"took_ms"`
	WaitedMS   int64             `json:"waited_ms"`
}

// StandbyStats are the counters of a standby engine.
type StandbyStats struct {
	Switches   uint64 `json:"switches"`
	Forced     uint64 `json:"forced" doc:"Switches although a side could not be reached."`
	Automatic  uint64 `json:"automatic"`
	Degraded   uint64 `json:"degraded"`
	Unverified uint64 `json:"unverified"`
	Refused    uint64 `json:"refused" doc:"Requests refused during the freeze after a switch."`
}

// getStats returns counters of this process only: the engine has none.
func (s *Server) getStats(context.Context, *struct{}) (*body[Stats], error) {
	out := Stats{Locks: lockStats(s.o.Client.Stats()), Guards: map[string]GuardStats{}}
	if s.o.Guards != nil {
		for name, g := range s.o.Guards() {
			out.Guards[name] = guardStats(g)
		}
	}
	if e, ok := s.o.Engine.(*standby.Engine); ok {
		// The conversion compiles only while both types have the same fields.
		st := StandbyStats(e.Stats())
		out.Standby = &st
	}
	return answer(out), nil
}

// lockStats copies the counters field by field: the API's names outlive those of the
// package.
func lockStats(s interlock.Stats) LockStats {
	return LockStats{
		Live: s.Live, Waiting: s.Waiting, Acquired: s.Acquired, HandedOver: s.HandedOver, Contended: s.Contended, Failed: s.Failed,
		Renewed: s.Renewed, RenewFailed: s.RenewFailed, Released: s.Released, ReleaseFailed: s.ReleaseFailed, Lost: s.Lost,
		CleanedUp: s.CleanedUp, Dropped: s.Dropped, HeldMS: s.Held.Milliseconds(), WaitedMS: s.Waited.Milliseconds(),
	}
}

// guardStats converts the counters of a guard, with durations in milliseconds.
func guardStats(s guard.Stats) GuardStats {
	out := GuardStats{
		Running: s.Running, Waiting: s.Waiting, Asked: s.Asked, Coalesced: s.Coalesced, Verdicts: map[string]uint64{}, Endings: map[string]uint64{},
		Lost: s.Lost, Renewed: s.Renewed, NotRenewed: s.NotRenewed, CleanedUp: s.CleanedUp,
		TookMS: s.Took.Milliseconds(), WaitedMS: s.Waited.Milliseconds(),
	}
	for v, n := range s.Verdicts {
		out.Verdicts[string(v)] = n
	}
	for e, n := range s.Endings {
		out.Endings[string(e)] = n
	}
	return out
}
