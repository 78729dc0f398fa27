package interlock

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A lease is a ward of its client's watchdog, which calls these.

func (l *lease) Watched() *watchdog.Lease { return &l.watch }
func (l *lease) Expired()                 { l.lose(ErrExpired) }
func (l *lease) Exceeded()                { l.lose(ErrMaxHold) }
func (l *lease) Gone(err error)           { l.lose(reasonGone(err)) }

// Renewed counts and traces what came of a renewal.
func (l *lease) Renewed(err error) {
	if err == nil {
		l.core.stats.renewed.Add(1)
	} else {
		l.core.stats.renewFailed.Add(1)
	}
	if t := l.opts.trace; t != nil && t.Renewed != nil {
		t.Renewed(Renewed{Key: l.req.Key, Holder: l.req.Holder, Err: err})
	}
}

// renew is how the watchdog asks the engine.
func (c *core) renew(ctx context.Context, wards []watchdog.Ward) []error {
	return c.engine.Renew(ctx, requests(wards))
}

// tick is what a client does now and then while it has leases.
func (c *core) tick(now time.Time, wards func() []watchdog.Ward) {
	c.presence.show(now)
	if c.seizures.heed() {
		all := wards()
		c.background.Go(func() { c.seizures.review(all) })
	}
}

func requests(wards []watchdog.Ward) []engine.Request {
	reqs := make([]engine.Request, len(wards))
	for i, x := range wards {
		reqs[i] = x.(*lease).req
	}
	return reqs
}
