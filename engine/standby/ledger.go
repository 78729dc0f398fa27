package standby

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A ledger keeps what became of work, on the side that counts. What was kept on
// another before a switch is asked for there.
type ledger struct{ *Engine }

var _ engine.Ledger = ledger{}

// Claim implements [engine.Ledger]. After a switch the other side may know more: a
// claim that is granted here although the work was done there is settled so.
func (l ledger) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	v := l.view.Load()
	if err := l.admit(v, time.Now(), c.Lease); err != nil {
		return engine.Record{}, err
	}
	rec, err := v.caps.Ledger.Claim(ctx, c)
	if err != nil {
		return rec, err
	}
	rec.Local = v.side == Local
	if !rec.Granted && rec.State != engine.Unknown {
		return rec, nil
	}
	for _, s := range v.ledger {
		was, err := l.ask(ctx, s, c.Key)
		switch {
		case err != nil:
			l.stats.unheard.Add(1)
		case was.State == engine.Unknown && c.TakeOver:
			rec.TookOver = rec.Granted
		case was.State == engine.Done, was.State == engine.Failed, was.State != engine.Absent && rec.Granted:
			return l.yield(ctx, v, c, rec, was)
		}
	}
	return rec, nil
}

var errDown = errors.New("the side could not be reached when it was last asked")

// ask looks a record up on a side that does not count. It does not wait for long.
func (l ledger) ask(ctx context.Context, s *site, key string) (engine.Record, error) {
	l.mu.Lock()
	down := s.trouble != nil
	l.mu.Unlock()
	if down {
		return engine.Record{}, errDown
	}
	ctx, cancel := context.WithTimeout(ctx, l.config.view/readPart)
	defer cancel()
	return s.caps.Ledger.Lookup(ctx, key)
}

// yield answers a claim with what another side knows. If it was granted, it is
// settled with that, so that the side that counts knows it, too.
func (l ledger) yield(ctx context.Context, v *view, c engine.Claim, rec, was engine.Record) (engine.Record, error) {
	mismatch := c.Fingerprint != "" && was.Fingerprint != "" && c.Fingerprint != was.Fingerprint
	if rec.Granted {
		x := engine.Settlement{Key: c.Key, Attempt: c.Attempt, Abandon: true, Lease: c.Lease}
		if known := was.State != engine.Running && was.Left > 0; known && c.Fingerprint == was.Fingerprint {
			x = engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: was.State, Result: was.Result, Retain: was.Left}
		}
		if _, err := v.caps.Ledger.Settle(ctx, x); err != nil {
			return engine.Record{}, fmt.Errorf("standby: %q is %v on the other side, and the claim here could not be undone: %w: %w",
				c.Key, was.State, engine.ErrUnknown, err)
		}
	}
	if mismatch {
		return engine.Record{}, fmt.Errorf("standby: %q: %w", c.Key, engine.ErrMismatch)
	}
	was.Granted = false
	return was, nil
}

// Renew implements [engine.Ledger].
func (l ledger) Renew(ctx context.Context, cs []engine.Claim) []error {
	v := l.view.Load()
	return renew(l.Engine, v, cs, func(c engine.Claim) time.Duration { return c.Lease },
		func(cs []engine.Claim) []error { return v.caps.Ledger.Renew(ctx, cs) })
}

// Settle implements [engine.Ledger]. As with Release, nobody remembers where a claim
// is; and as with Abandon, one that is abandoned is so everywhere.
func (l ledger) Settle(ctx context.Context, x engine.Settlement) (engine.Outcome, error) {
	settle := func(s *site) (engine.ReleaseResult, error) {
		o, err := s.caps.Ledger.Settle(ctx, x)
		return engine.ReleaseResult{Outcome: o}, err
	}
	ask := untilReleased
	if x.Abandon {
		ask = everywhere
	}
	p, err := ask(l.view.Load().order(time.Now()), settle)
	return p.Outcome, err
}

// Lookup implements [engine.Ledger].
func (l ledger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	v := l.view.Load()
	rec, err := v.caps.Ledger.Lookup(ctx, key)
	rec.Local = v.side == Local
	if err != nil || rec.State != engine.Absent && rec.State != engine.Unknown {
		return rec, err
	}
	for _, s := range v.ledger {
		was, err := l.ask(ctx, s, key)
		if err == nil && was.State != engine.Absent && (rec.State == engine.Absent || was.State != engine.Unknown) {
			return was, nil
		}
	}
	return rec, nil
}

// List implements [engine.Ledger]. After a switch it lists the other sides, too, as
// far as they can be reached. The cursor is the side, and what that says.
func (l ledger) List(ctx context.Context, pattern, cursor string) (records []engine.Record, next string, err error) {
	v := l.view.Load()
	sites := append([]*site{v.site}, v.others...)
	word, inner, _ := strings.Cut(cursor, ":")
	at := slices.IndexFunc(sites, func(s *site) bool { return s.side.String() == word })
	if cursor == "" {
		at = 0
	}
	if at < 0 {
		return nil, "", fmt.Errorf("standby: there is no page %q, or not any more: begin with an empty cursor", cursor)
	}
	records, next, err = sites[at].caps.Ledger.List(ctx, pattern, inner)
	switch {
	case err != nil:
		return nil, "", err
	case next != "":
		return records, sites[at].side.String() + ":" + next, nil
	case at+1 < len(sites):
		return records, sites[at+1].side.String() + ":", nil
	}
	return records, "", nil
}

// Watch implements [engine.Ledger].
func (l ledger) Watch(key string) (wake <-chan struct{}, stop func()) {
	return l.merge(nil, func(s *site) (<-chan struct{}, func()) { return s.caps.Ledger.Watch(key) })
}
