package gateway

import "github.com/interlock-go/interlock/guard"

// NoKey is the verdict of a request that had no key and passed unguarded, because its rule
// is optional.
const NoKey guard.Verdict = "no-key"

// Stats returns the counters of the rules' guards, by name. Rules of one name are added
// up. A rule with a lock counts only requests that passed without a key. A reload that
// changes a rule resets its counters.
func (g *Gateway) Stats() map[string]guard.Stats {
	all := make(map[string]guard.Stats)
	// Each middleware is counted once, even if several rules share it.
	for _, m := range g.current.Load().resources.middlewares {
		s := guard.Stats{Verdicts: map[guard.Verdict]uint64{}, Endings: map[guard.Ending]uint64{}}
		if m.stats != nil {
			s = m.stats()
		}
		n := m.noKey.Load()
		if n > 0 {
			s.Verdicts[NoKey] += n
		}
		if m.stats != nil || n > 0 {
			all[m.name] = sum(all[m.name], s)
		}
	}
	return all
}

// sum returns a plus b. It adds the counts of a to the maps of b.
func sum(a, b guard.Stats) guard.Stats {
	for verdict, n := range a.Verdicts {
		b.Verdicts[verdict] += n
	}
	for ending, n := range a.Endings {
		b.Endings[ending] += n
	}
	b.Running += a.Running
	b.Waiting += a.Waiting
	b.Asked += a.Asked
	b.Coalesced += a.Coalesced
	b.Lost += a.Lost
	b.Local += a.Local
	b.Renewed += a.Renewed
	b.NotRenewed += a.NotRenewed
	b.CleanedUp += a.CleanedUp
	b.Took += a.Took
	b.Waited += a.Waited
	return b
}
