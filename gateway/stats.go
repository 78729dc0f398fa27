package gateway

import "github.com/interlock-go/interlock/guard"

// Stats returns what the guards of the rules have counted, by name; rules of one name
// are added up. Those of rules that a reload has changed begin anew.
func (g *Gateway) Stats() map[string]guard.Stats {
	all := make(map[string]guard.Stats)
	for _, s := range g.plan.Load().parts.shields {
		if s.stats != nil {
			all[s.name] = sum(all[s.name], s.stats())
		}
	}
	return all
}

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
	b.Renewed += a.Renewed
	b.NotRenewed += a.NotRenewed
	b.CleanedUp += a.CleanedUp
	b.Took += a.Took
	b.Waited += a.Waited
	return b
}
