package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// A group holds the contenders that are measured alternately.
type group struct {
	server *server
	rows   []*row
	base   string // the name of the baseline row
}

// A row is a contender and its measurements. Lists have one value per round.
type row struct {
	contender
	locks

	cycles              int       // cycles, grants, or rounds of a storm
	latency             histogram // durations of cycles, or of hand-overs
	sent, all           int       // commands that the clients sent, and all commands, those inside scripts included
	mallocs             uint64
	redisCPU, clientCPU time.Duration
	foreign             []float64 // cores that other programs used
	failures            failures

	// Uncontended: cycles per second, and their ratio to the baseline.
	rate, ratio []float64

	// Contended: total time / time held, Jain index, goroutines never granted, longest
	// wait in ms, and grants to the goroutine that was also the previous holder.
	total, jain, starved, longest []float64
	self                          int

	took []float64 // duration of a storm, in ms
}

// failures counts failed calls, such as timeouts on a slow server. They are printed and
// do not stop the program.
type failures struct {
	n     int
	first error
}

func (t *failures) add(err error) {
	if t.n++; t.first == nil {
		t.first = err
	}
}

func (t *failures) merge(other failures) {
	t.n += other.n
	if t.first == nil {
		t.first = other.first
	}
}

// openAll connects every contender.
func openAll(ctx context.Context, s *server, all []contender) (*group, error) {
	f := &group{server: s, base: redsyncRow}
	for _, c := range all {
		l, err := c.open(ctx, s.addr)
		if err != nil {
			f.closeAll()
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		f.rows = append(f.rows, &row{contender: c, locks: l})
	}
	return f, nil
}

func (f *group) closeAll() {
	for _, r := range f.rows {
		r.close()
	}
}

// rates returns the rates of the row with the given name; none if it was not measured.
func (f *group) rates(name string) []float64 {
	if r := f.find(name); r != nil {
		return r.rate
	}
	return nil
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

// compare appends to each row the ratio of its rate to the baseline's, in the last round.
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

// A measurement is one run of a contender.
type measurement struct {
	latency  histogram
	failures failures
	took     time.Duration
	cost
}

// cycle lets g goroutines acquire and release uncontended locks for the given time, each
// with its own keys.
func (f *group) cycle(ctx context.Context, r *row, g int, slice time.Duration) (*measurement, error) {
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
	before, err := f.server.readUsage(ctx)
	started := time.Now()
	close(begin)
	all.Wait()
	if err != nil {
		return nil, err
	}
	t := &measurement{took: time.Since(started)}
	after, err := f.server.readUsage(ctx)
	if err != nil {
		return nil, err
	}
	t.cost = after.since(before, r.sends)
	for i := range each {
		t.failures.merge(each[i].failures)
		t.latency.merge(&each[i].latency)
	}
	if t.latency.n == 0 {
		return nil, fmt.Errorf("%s: every call failed: %w", r.name, t.failures.first)
	}
	return t, nil
}

// addMeasurement adds a measurement to the row.
func (r *row) addMeasurement(t *measurement) {
	r.rate = append(r.rate, float64(t.latency.n)/t.took.Seconds())
	r.latency.merge(&t.latency)
	r.failures.merge(t.failures)
	r.addCost(t.cost, t.latency.n)
}

// addCost adds the cost of the given number of cycles.
func (r *row) addCost(c cost, cycles int) {
	r.cycles += cycles
	r.sent += c.sent
	r.all += c.all
	r.mallocs += c.mallocs
	r.redisCPU += c.redis
	r.clientCPU += c.client
	r.foreign = append(r.foreign, c.foreign)
}

// A worker locks its own keys, one after the other. It does not allocate.
type worker struct {
	keys     [16]string
	latency  histogram
	failures failures
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
			w.failures.add(err)
		} else {
			w.latency.add(now.Sub(last))
		}
		last = now
	}
}
