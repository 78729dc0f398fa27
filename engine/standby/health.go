package standby

import (
	"context"
	"fmt"
	"sync"

	"github.com/interlock-go/interlock/engine"
)

// A prober probes both sides.
type prober struct{ *Engine }

// Probe implements [engine.Prober].
func (p prober) Probe(ctx context.Context) (engine.Health, error) {
	if err := ctx.Err(); err != nil {
		return engine.Health{}, err
	}
	h := engine.Health{Topology: engine.Standby, Parts: make([]engine.Health, len(p.shared)), Notices: p.State().notices()}
	var both sync.WaitGroup
	for i, s := range p.shared {
		both.Go(func() { h.Parts[i] = s.health(ctx) })
	}
	both.Wait()
	return h, nil
}

// health returns the health of a side.
func (s *sideState) health(ctx context.Context) (h engine.Health) {
	if s.caps.Prober != nil {
		var err error
		if h, err = s.caps.Prober.Probe(ctx); err != nil {
			h.Notices = append(h.Notices, "the probe failed: "+err.Error())
			h.Nodes = []engine.Node{{Addr: s.side.String(), Err: err}}
		}
	}
	h.Name = s.side.String()
	return h
}

// notices returns what an operator should know.
func (s State) notices() (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if s.Side == Local {
		say("degraded: neither side is active (epoch %d); every process has its own locks, and does not see those of others", s.Epoch)
	} else {
		say("the %v is active (epoch %d)", s.Side, s.Epoch)
	}
	if s.Epoch > 0 {
		say("switched at %s by %s", s.Since.Format("2006-01-02 15:04:05"), s.By)
	}
	if s.Alone {
		say("this process has degraded on its own, because it reaches neither side")
	}
	if s.Closed != nil {
		say("nothing is granted: %v", s.Closed)
	}
	for _, side := range []Side{Primary, Standby} {
		if err := s.Sides[side]; err != nil {
			say("the %v cannot be reached: %v", side, err)
		}
	}
	return all
}
