package enginetest

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// A prober is a wrapper whose calls can be made to fail.
type prober struct {
	faulty *Faulty
	inner  engine.Prober
}

// Probe implements [engine.Prober].
func (p *prober) Probe(ctx context.Context) (engine.Health, error) {
	x := p.faulty.next(ctx, OpProbe)
	return withFault(p.faulty, ctx, x, p.inner.Probe)
}
