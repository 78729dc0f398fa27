package gateway

import "github.com/interlock-go/interlock/guard"

// NoKey is the verdict of a request that had no key and passed unguarded, because its rule
// is optional.
const NoKey guard.Verdict = "no-key"

// Stats returns the counters of the rules' guards, by name. Rules of one name share them,
// and a reload continues them. A rule with a lock counts only requests that passed without
// a key.
func (g *Gateway) Stats() map[string]guard.Stats {
	all := make(map[string]guard.Stats)
	middlewares := g.current.Load().resources.middlewares
	for _, m := range middlewares {
		if m.stats != nil {
			all[m.name] = m.stats()
		}
	}
	for _, m := range middlewares {
		n := g.traffic.rule(m.name).noKey.Load()
		if n == 0 {
			continue
		}
		if _, guarded := all[m.name]; !guarded {
			all[m.name] = guard.Stats{Verdicts: map[guard.Verdict]uint64{}, Endings: map[guard.Ending]uint64{}}
		}
		all[m.name].Verdicts[NoKey] = n
	}
	return all
}
