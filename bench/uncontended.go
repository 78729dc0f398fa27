package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// A group is contenders that are measured in turn.
type group struct {
	server *server
	rows   []*row
	base   string // the row that others are compared with
}

// A row is a contender and what was measured of it. Where there is a list, it
// has a value for each round.
type row struct {
	contender
	locks

	cycles              int       // or grants, or rounds of a storm
	latency             histogram // of cycles, or of hand-overs
	sent, all           int       // commands
	mallocs             uint64
	redisCPU, clientCPU time.Duration
	foreign             []float64
	trouble             trouble

	// Uncontended: cycles a second, and that as a multiple of redsync's.
	rate, ratio []float64

	// Contended: the whole time in holds, grants to the previous holder, and
	// waits in ms.
	total, jain, starved, longest []float64
	self                          int

	took []float64 // a storm, in ms
}

// trouble counts calls that failed, as those do that give up on a server which
// is slow. They are shown, and are no reason to stop.
type trouble struct {
	n     int
	first error
}

func (t *trouble) add(err error) {
	if t.n++; t.first == nil {
		t.first = err
	}
}

func (t *trouble) merge(other trouble) {
	t.n += other.n
	if t.first == nil {
		t.first = other.first
	}
}

// assemble connects every contender.
func assemble(ctx context.Context, s *server, all []contender) (*group, error) {
	f := &group{server: s, base: redsyncRow}
	for _, c := range all {
		l, err := c.open(ctx, s.addr)
		if err != nil {
			f.dismiss()
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		f.rows = append(f.rows, &row{contender: c, locks: l})
	}
	return f, nil
}

func (f *group) dismiss() {
	for _, r := range f.rows {
		r.close()
	}
}

// find returns the row with the given name, or nil.
func (f *group) find(name string) *row {
	for _, r := range f.rows {
		if r.name == name {
			return r
		}
	}
	return nil
}

// compare notes how each row did beside the one that others are compared with, in
// the round that just ended.
func (f *group) compare() {
	base := f.find(f.base)
	if base == nil {
		return
	}
	last := len(base.rate) - 1
	for _, r := range f.rows {
		if last < len(r.rate) {
			r.ratio = append(r.ratio, r.rate[last]/base.rate[last])
		}
	}
}

// A turn is what a contender did when it was its turn.
type turn struct {
	latency histogram
	trouble trouble
	took    time.Duration
	cost
}

// cycle lets g goroutines acquire and release uncontended locks for the given time, each
// with its own keys.
func (f *group) cycle(ctx context.Context, r *row, g int, slice time.Duration) (*turn, error) {
	var (
		all   sync.WaitGroup
		begin = make(chan struct{})
		each  = make([]worker, g)
	)
	for i := range each {
		w := &each[i]
		w.fill(i)
		all.Go(func() {
			<-begin
			w.work(ctx, r.locks, slice)
		})
	}
	runtime.GC() // do not measure the garbage of the last row
	before, err := f.server.use(ctx)
	started := time.Now()
	close(begin)
	all.Wait()
	if err != nil {
		return nil, err
	}
	t := &turn{took: time.Since(started)}
	after, err := f.server.use(ctx)
	if err != nil {
		return nil, err
	}
	t.cost = after.since(before, r.sends)
	for i := range each {
		t.trouble.merge(each[i].trouble)
		t.latency.merge(&each[i].latency)
	}
	if t.latency.n == 0 {
		return nil, fmt.Errorf("%s: nothing works: %w", r.name, t.trouble.first)
	}
	return t, nil
}

// addTurn adds a turn to the row.
func (r *row) addTurn(t *turn) {
	r.rate = append(r.rate, float64(t.latency.n)/t.took.Seconds())
	r.latency.merge(&t.latency)
	r.trouble.merge(t.trouble)
	r.addCost(t.cost, t.latency.n)
}

// addCost adds the cost of that many cycles.
func (r *row) addCost(c cost, cycles int) {
	r.cycles += cycles
	r.sent += c.sent
	r.all += c.all
	r.mallocs += c.mallocs
	r.redisCPU += c.redis
	r.clientCPU += c.client
	r.foreign = append(r.foreign, c.foreign)
}

// A worker goes round keys of its own. It allocates nothing by itself.
type worker struct {
	keys    [16]string
	latency histogram
	trouble trouble
}

func (w *worker) fill(i int) {
	for k := range w.keys {
		w.keys[k] = fmt.Sprintf("bench:%d:%d", i, k)
	}
}

func (w *worker) work(ctx context.Context, l locks, slice time.Duration) {
	began := time.Now()
	for i, last := 0, began; last.Sub(began) < slice; i++ {
		err := l.cycle(ctx, w.keys[i%len(w.keys)])
		now := time.Now()
		if err != nil {
			w.trouble.add(err)
		} else {
			w.latency.add(now.Sub(last))
		}
		last = now
	}
}
