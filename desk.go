package interlock

import (
	"context"
	"fmt"
	"hash/maphash"
	"runtime"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A desk is the in-process level: of the goroutines that want the same key, one
// stands at the engine, and the others in line behind it.
type desk struct {
	core  *core
	seed  maphash.Seed
	parts [64]part
}

// A part of the desk keeps the lines of some keys.
type part struct {
	mu    sync.Mutex
	lines map[string]*line
	spare *line // one that has ended, for the next
}

func (d *desk) init(c *core) {
	d.core, d.seed = c, maphash.MakeSeed()
	for i := range d.parts {
		d.parts[i].lines = make(map[string]*line)
	}
}

func (d *desk) part(key string) *part {
	return &d.parts[maphash.String(d.seed, key)%uint64(len(d.parts))]
}

// begin opens the line of a key.
func (p *part) begin(key string) *line {
	ln := p.spare
	if ln == nil {
		ln = new(line)
	}
	p.spare, p.lines[key] = nil, ln
	return ln
}

// end closes the line of a key. Nobody is in it, so nobody knows it any more.
func (p *part) end(key string, ln *line) {
	delete(p.lines, key)
	*ln = line{}
	p.spare = ln
}

// take gets the lock: at the engine if nobody else of this process is there,
// otherwise in line, or, if once, by seeing how the one at the engine fares.
func (d *desk) take(ctx context.Context, m *Mutex, once bool) (grant, error) {
	p := d.part(m.key)
	p.mu.Lock()
	ln := p.lines[m.key]
	switch {
	case ln == nil:
		ln = p.begin(m.key)
	case ln.idle:
		ln.idle = false
	case once:
		return d.follow(ctx, m, p, ln) // unlocks
	default:
		w := ln.push(m.opts.terms())
		p.mu.Unlock()
		return d.queue(ctx, m, p, ln, w)
	}
	pause := time.Until(ln.after)
	p.mu.Unlock()
	return d.lead(ctx, m, p, ln, pause, once)
}

// follow answers one attempt by what the one at the engine finds: it was there
// first, so whoever wins, it is not us. It unlocks p.
func (d *desk) follow(ctx context.Context, m *Mutex, p *part, ln *line) (grant, error) {
	if s := ln.ahead(); s.holder != "" {
		p.mu.Unlock()
		return grant{}, s.contended(m.key, nil)
	}
	f := ln.join()
	p.mu.Unlock()
	patience := time.NewTimer(briefOutage)
	defer patience.Stop()
	select {
	case <-f.done:
	case <-patience.C:
		return grant{}, fmt.Errorf("interlock: acquiring %q: %w: no answer yet to somebody who asked before", m.key, engine.ErrUnavailable)
	case <-ctx.Done():
		return grant{}, unanswered(m.key, context.Cause(ctx))
	}
	switch {
	case f.err != nil:
		return grant{}, f.err
	case f.over: // who was there has left, or somebody else has its place
		return d.take(ctx, m, true)
	}
	return grant{}, f.busy.contended(m.key, nil)
}

// queue waits in line for a turn.
func (d *desk) queue(ctx context.Context, m *Mutex, p *part, ln *line, w *waiter) (grant, error) {
	waiting := &d.core.stats.waiting
	waiting.Add(1)
	if t := m.opts.trace; t != nil && t.Waiting != nil {
		p.mu.Lock()
		s := ln.ahead()
		p.mu.Unlock()
		t.Waiting(Waiting{Key: m.key, Holder: s.holder, Left: s.left()})
	}
	var ended error
	select {
	case turn := <-w.turn:
		waiting.Add(-1) // who goes on waiting, at the engine, is counted there
		return d.serve(ctx, m, p, ln, turn)
	case <-ctx.Done():
		ended = context.Cause(ctx)
	case <-d.core.closing:
		ended = ErrClosed
	}
	waiting.Add(-1)
	p.mu.Lock()
	s := ln.ahead()
	inLine := ln.drop(w)
	p.mu.Unlock()
	if !inLine { // our turn came just now: pass it on
		d.decline(m, p, ln, <-w.turn)
	}
	return grant{}, s.gaveUp(m.key, ended)
}

// serve takes the turn that came: the lock itself, or the place at the engine.
func (d *desk) serve(ctx context.Context, m *Mutex, p *part, ln *line, t turn) (grant, error) {
	switch {
	case t.err != nil:
		return grant{}, t.err
	case t.lock:
		return t.grant, nil
	}
	return d.lead(ctx, m, p, ln, t.pause, false)
}

// decline passes on a turn that came too late.
func (d *desk) decline(m *Mutex, p *part, ln *line, t turn) {
	if t.err != nil {
		return
	}
	if !t.lock {
		p.mu.Lock()
		defer p.mu.Unlock()
		ln.turnOver(p, m.key, nil, 0)
		return
	}
	d.core.background.Go(func() {
		if _, _, err := d.pass(t.grant, m.opts.terms(), ln, p); err != nil {
			d.core.unreleased(&t.grant.req, m.opts.trace, 0, err)
		}
	})
}

// lead stands at the engine after a pause. Whatever comes of it, the line goes
// on: behind the new holder, or with the next one at the engine.
func (d *desk) lead(ctx context.Context, m *Mutex, p *part, ln *line, pause time.Duration, once bool) (grant, error) {
	var news error // for the others
	taken := false
	defer func() { // also if what the caller gave us panics: a Backoff, a Trace
		if !taken {
			p.mu.Lock()
			defer p.mu.Unlock()
			ln.turnOver(p, m.key, news, 0)
		}
	}()
	if err := d.core.rest(ctx, pause, nil); err != nil {
		return grant{}, seen{}.gaveUp(m.key, err)
	}
	g, err := m.stand(ctx, once, &ln.ear, func(busy seen) {
		p.mu.Lock()
		defer p.mu.Unlock()
		ln.busy = busy
		ln.land(flight{busy: busy})
	})
	taken = err == nil
	if ctx.Err() == nil { // that its own context ended is no news
		news = err
	}
	return g, err
}

// announce tells those who asked for the lock meanwhile that it has been granted,
// although its lease is still to be made: two that take several at once would
// otherwise wait for each other's.
func (d *desk) announce(g *grant) {
	if g.direct {
		return
	}
	p := d.part(g.req.Key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ln := p.lines[g.req.Key]; ln != nil {
		ln.busy = seen{holder: g.req.Holder, until: g.sure}
		ln.land(flight{busy: ln.busy})
	}
}

// giveBack returns what was granted for m and announced, and is not to be held.
func (d *desk) giveBack(m *Mutex, g *grant) error {
	if g.direct {
		_, err := d.core.release(g.req)
		return err
	}
	p := d.part(g.req.Key)
	p.mu.Lock()
	ln := p.lines[g.req.Key]
	p.mu.Unlock()
	_, _, err := d.pass(*g, m.opts.terms(), ln, p)
	return err
}

// occupy notes who holds the lock that the line is about.
func (d *desk) occupy(l *lease) {
	if l.direct {
		return
	}
	p := d.part(l.req.Key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ln := p.lines[l.req.Key]; ln != nil {
		ln.held = l
		ln.land(flight{busy: seenOf(l)})
	}
}

// vacate lets the line go on without a holder that lost the lock.
func (d *desk) vacate(l *lease) {
	p := d.part(l.req.Key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ln := p.lines[l.req.Key]; ln != nil && ln.held == l {
		ln.turnOver(p, l.req.Key, nil, 0)
	}
}

// leave gives up the lock that l held. It reports whether the lock went to the
// next in line, and otherwise what the engine said.
func (d *desk) leave(l *lease) (handed bool, outcome engine.Outcome, err error) {
	if l.direct {
		parting, err := d.core.release(l.req)
		return false, parting.Outcome, err
	}
	p := d.part(l.req.Key)
	p.mu.Lock()
	ln := p.lines[l.req.Key]
	if ln == nil || ln.held != l { // cannot be: a live lease has its line
		p.mu.Unlock()
		parting, err := d.core.release(l.req)
		return false, parting.Outcome, err
	}
	ln.held, ln.busy = nil, seen{}
	p.mu.Unlock()
	g := l.grant
	g.sent = l.watch.Sent()
	g.sure = watchdog.SureUntil(g.sent, g.req.Lease)
	return d.pass(g, l.opts.terms(), ln, p)
}

// pass gives a lock that this process holds to the next in line, if the two
// agree on the terms and its time is not up, and back to the engine otherwise.
func (d *desk) pass(g grant, t terms, ln *line, p *part) (handed bool, outcome engine.Outcome, err error) {
	now := time.Now()
	ctx := d.core.bound.Context(now) // one bound for all of it
	if !d.core.closed.Load() && g.passable(now) && (!t.explicit || d.renewed(ctx, &g, ln, p, t)) {
		p.mu.Lock()
		if w := ln.first; w != nil && w.terms == t {
			ln.drop(w)
			w.turn <- turn{lock: true, grant: g.next()}
			p.mu.Unlock()
			runtime.Gosched() // the next holder goes first: it is in everybody's way
			return true, engine.Released, nil
		}
		p.mu.Unlock()
	}
	start := time.Now()
	parting, err := d.core.releaseWithin(ctx, g.req)
	p.mu.Lock()
	defer p.mu.Unlock()
	ln.turnOver(p, g.req.Key, nil, ln.courtesy(parting.Listeners, time.Since(start)))
	return false, parting.Outcome, err
}

// renewed makes the lease of a lock with an explicit one begin anew for the
// next in line, if there is one who wants it.
func (d *desk) renewed(ctx context.Context, g *grant, ln *line, p *part, t terms) bool {
	p.mu.Lock()
	wanted := ln.first != nil && ln.first.terms == t
	p.mu.Unlock()
	if !wanted {
		return false
	}
	sent := time.Now()
	if errs := d.core.engine.Renew(ctx, []engine.Request{g.req}); errs[0] != nil {
		return false
	}
	g.sent, g.sure = sent, watchdog.SureUntil(sent, g.req.Lease)
	return g.passable(time.Now())
}
