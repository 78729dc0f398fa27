package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
)

// What guards are to reach.
const (
	leastGuardRatio = 3.0 // × what is written by hand, with many goroutines
	mostGuardAllocs = 10.0
	mostGuardMicros = 3.0 // on the embedded engine, median
)

// The rows of the tables about guards.
const (
	guardRow    = "Interlock guard"
	byHandRow   = "by hand on go-redis: SETNX, then SET"
	replayRow   = "Interlock guard, and a replay in another process"
	embeddedRow = "Interlock guard, embedded engine"
)

// A receipt is what the work returns.
type receipt struct {
	Order  string
	Cents  int64
	Placed time.Time
}

var paid = receipt{Order: "2026-11-15/000042", Cents: 129_900, Placed: time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)}

// kept is how long results are kept: every cycle is about a key of its own, and
// those of a long run must not pile up.
const kept = 2 * time.Second

// guards are the rows of the tables about work that is to happen once.
func guards() []contender {
	return []contender{guarded(guardRow, 1), byHand(byHandRow), guarded(replayRow, 2), embedded(embeddedRow)}
}

// guarded is Interlock as a program uses it: the work, and then a replay in each
// further process.
func guarded(name string, processes int) contender {
	open := func(ctx context.Context, addr string) (locks, error) {
		engines := make([]*redisengine.Engine, processes)
		each := make([]*guard.Guard[receipt], processes)
		for i := range each {
			var err error
			if engines[i], err = redisengine.Open(ctx, "redis://"+addr); err != nil {
				return locks{}, err
			}
			if each[i], err = newGuard(engines[i]); err != nil {
				return locks{}, err
			}
		}
		return locks{
			cycle: onceIn(each),
			close: func() {
				for i := range each {
					_ = each[i].Close(context.Background())
					_ = engines[i].Close()
				}
			},
		}, nil
	}
	return contender{name: name, sends: scriptCalls, open: open}
}

// embedded is a guard that needs no server.
func embedded(name string) contender {
	open := func(context.Context, string) (locks, error) {
		g, err := newGuard(memory.New())
		if err != nil {
			return locks{}, err
		}
		return locks{cycle: onceIn([]*guard.Guard[receipt]{g}), close: func() { _ = g.Close(context.Background()) }}, nil
	}
	return contender{name: name, sends: scriptCalls, open: open}
}

func newGuard(e engine.Engine) (*guard.Guard[receipt], error) {
	return guard.New[receipt](interlock.New(e), guard.Policy{Name: "bench", Retain: kept})
}

var errReplay = errors.New("the work was done twice, or the result is another")

// onceIn returns a cycle in which work on a new key is asked for in each process.
func onceIn(each []*guard.Guard[receipt]) func(context.Context, string) error {
	next := fresh()
	return func(ctx context.Context, key string) error {
		id := guard.Of(key, next())
		ran := 0
		for _, g := range each {
			got, err := g.Do(ctx, id, func(context.Context) (receipt, error) { ran++; return paid, nil })
			if err != nil {
				return err
			}
			if got != paid {
				return errReplay
			}
		}
		if ran != 1 {
			return errReplay
		}
		return nil
	}
}

// fresh returns what makes names that nobody else has, also in another run.
func fresh() func() string {
	var seq atomic.Int64
	run := rand.Text()[:8]
	return func() string { return run + strconv.FormatInt(seq.Add(1), 36) }
}

// byHand is what people write: SETNX claims the key, SET keeps the result. It has
// no owner, no renewal, no unknown outcome, and forgets who runs when a reply is
// lost.
func byHand(name string) contender {
	open := func(_ context.Context, addr string) (locks, error) {
		client := redis.NewClient(&redis.Options{Addr: addr})
		next := fresh()
		return locks{
			cycle: func(ctx context.Context, key string) error {
				key = "byhand:" + key + ":" + next()
				first, err := client.SetNX(ctx, key, "running", lifetime).Result()
				if err != nil {
					return err
				}
				if !first {
					return errReplay
				}
				text, err := json.Marshal(paid)
				if err != nil {
					return err
				}
				return client.Set(ctx, key, text, kept).Err()
			},
			close: func() { _ = client.Close() },
		}, nil
	}
	return contender{name: name, sends: []string{"set", "setnx"}, open: open}
}

// guarding measures work that is to happen once.
func (p plan) guarding(ctx context.Context, out io.Writer, s *server, g int, b *bar) error {
	f, err := assemble(ctx, s, selected(guards(), p.only))
	if err != nil {
		return err
	}
	defer f.dismiss()
	f.base = byHandRow
	for _, r := range f.rows { // connect, load scripts, warm up
		if _, err := f.cycle(ctx, r, g, p.slice/5); err != nil {
			return err
		}
	}
	if err := p.rotate(ctx, f, g); err != nil {
		return err
	}
	b.guarded(f, g)
	guardingTable(f, g, p).print(out)
	return nil
}

// guarded says what was reached.
func (b *bar) guarded(f *field, g int) {
	if r := f.find(guardRow); r != nil && r.cycles > 0 {
		if g == manyGoroutines && len(r.ratio) > 0 {
			got := median(r.ratio)
			b.line(got >= leastGuardRatio, "at %d goroutines a guard does at least %.0f× what is written by hand: %.2f×", g, leastGuardRatio, got)
		}
		sent := float64(r.sent) / float64(r.cycles)
		b.line(sent <= 2.005, "at %d goroutines two round trips for a first call: %.2f", g, sent)
	}
	if r := f.find(replayRow); r != nil && r.cycles > 0 {
		sent := float64(r.sent) / float64(r.cycles)
		b.line(sent <= 3.005, "at %d goroutines one more for a replay elsewhere: %.2f together", g, sent)
	}
	if r := f.find(embeddedRow); r != nil && r.cycles > 0 && g == 1 {
		allocs, took := float64(r.mallocs)/float64(r.cycles), float64(r.latency.at(0.5))/float64(time.Microsecond)
		b.line(allocs <= mostGuardAllocs, "on the embedded engine at most %.0f allocations: %.2f", mostGuardAllocs, allocs)
		b.line(took < mostGuardMicros, "on the embedded engine under %.0f µs: %.1f µs", mostGuardMicros, took)
	}
}

func guardingTable(f *field, g int, p plan) *table {
	t := &table{
		title: fmt.Sprintf("Guards, every call about a new key: %d goroutines", g),
		columns: []string{"", "calls/s", "× by hand", "of rounds", "p50 µs", "p99 µs", "allocs/call",
			"commands sent/call", "with those in scripts", "Redis CPU µs/call", "client CPU µs/call"},
	}
	var foreign []float64
	for _, r := range f.rows {
		foreign = append(foreign, r.foreign...)
		t.add(r.name, thousands(median(r.rate)), ratio(r.ratio), span(r.ratio, "%.1f"),
			micros(r.latency.at(0.5)), micros(r.latency.at(0.99)), per(float64(r.mallocs), r.cycles),
			per(float64(r.sent), r.cycles), per(float64(r.all), r.cycles), microsPer(r.redisCPU, r.cycles), microsPer(r.clientCPU, r.cycles))
	}
	t.remark = fmt.Sprintf("%d rounds, in each of which everybody has a turn of %v. %s%s", p.rounds, p.slice, others(foreign), f.troubles())
	return t
}
