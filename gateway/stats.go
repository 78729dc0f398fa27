package gateway

import "github.com/interlock-go/interlock/guard"

// Stats returns the counters of the rules' guards, by name. Rules of one name are added
// up. A reload that changes a rule resets its counters.
func (g *Gateway) Stats() map[string]guard.Stats {
	all := make(map[string]guard.Stats)
	// Each middleware is counted once, even if several rules share it.
	for _, m := range g.current.Load().resources.middlewares {
		if m.stats != nil {
			all[m.name] = sum(all[m.name], m.stats())
		}
	}
	return all
}

// sum adds a to b, whose maps it changes.
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
