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

// The targets of guards.
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
	writesRow   = "raw rueidis, a guard's three writes, and no care"
	embeddedRow = "Interlock guard, embedded engine"
)

// A receipt is what the work returns.
type receipt struct {
	Order  string
	Cents  int64
	Placed string
}

var paid = receipt{Order: "2026-11-15/000042", Cents: 129_900, Placed: "2026-11-15T09:00:00Z"}

func pay(context.Context) (receipt, error) { return paid, nil }

// kept is how long results are kept: every cycle is about a key of its own, and
// those of a long run must not pile up.
const kept = 2 * time.Second

// A load is how often each key is called, one call after the other: people click twice,
// and clients retry.
type load struct {
	name  string
	times int64
}

var loads = []load{{"every call about a new key", 1}, {"every key asked for four times", 4}}

// guards are the rows of the tables about work that is to happen once.
func guards(l load) []contender {
	rows := []contender{guarded(guardRow, l), byHand(byHandRow, l)}
	if l.times == 1 {
		rows = append(rows, replayed(replayRow), rawWrites(writesRow), embedded(embeddedRow))
	}
	return rows
}

// guarded is Interlock as a program uses it.
func guarded(name string, l load) contender {
	open := func(ctx context.Context, addr string) (locks, error) {
		g, end, err := process(ctx, addr)
		if err != nil {
			return locks{}, err
		}
		return locks{cycle: asking(l, g), close: end}, nil
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
		return locks{cycle: asking(loads[0], g), close: func() { _ = g.Close(context.Background()) }}, nil
	}
	return contender{name: name, sends: scriptCalls, open: open}
}

// replayed is the work in one process, and its result in another.
func replayed(name string) contender {
	open := func(ctx context.Context, addr string) (locks, error) {
		first, endFirst, err := process(ctx, addr)
		if err != nil {
			return locks{}, err
		}
		second, endSecond, err := process(ctx, addr)
		if err != nil {
			endFirst()
			return locks{}, err
		}
		next := fresh()
		cycle := func(ctx context.Context, key string) error {
			id := guard.Of(key, next(1))
			if _, err := first.Do(ctx, id, pay); err != nil {
				return err
			}
			got, err := second.Do(ctx, id, again)
			if err == nil && got != paid {
				err = errAgain
			}
			return err
		}
		return locks{cycle: cycle, close: func() { endSecond(); endFirst() }}, nil
	}
	return contender{name: name, sends: scriptCalls, open: open}
}

// process returns a guard as a process has it.
func process(ctx context.Context, addr string) (g *guard.Guard[receipt], end func(), err error) {
	e, err := redisengine.Open(ctx, "redis://"+addr)
	if err != nil {
		return nil, nil, err
	}
	if g, err = newGuard(e); err != nil {
		_ = e.Close()
		return nil, nil, err
	}
	return g, func() {
		_ = g.Close(context.Background())
		_ = e.Close()
	}, nil
}

func newGuard(e engine.Engine) (*guard.Guard[receipt], error) {
	return guard.New[receipt](interlock.New(e), guard.Policy{Name: "bench", Retain: kept})
}

var errAgain = errors.New("the work was done twice, or the result is another")

// again is work that must not be done.
func again(context.Context) (receipt, error) { return receipt{}, errAgain }

// asking returns a cycle of one call. A refusal while the work runs is an answer, too.
func asking(l load, g *guard.Guard[receipt]) func(context.Context, string) error {
	next := fresh()
	return func(ctx context.Context, key string) error {
		if l.times > 1 {
			key = "all"
		}
		_, err := g.Do(ctx, guard.Of(key, next(l.times)), pay)
		if errors.Is(err, guard.ErrDuplicate) {
			return nil
		}
		return err
	}
}

// fresh returns a generator of unique names, across runs; each is used so many times.
func fresh() func(times int64) string {
	var seq atomic.Int64
	run := rand.Text()[:8]
	return func(times int64) string {
		var room [32]byte
		return string(strconv.AppendInt(append(room[:0], run...), seq.Add(1)/times, 36))
	}
}

// byHand is what people write: SETNX claims the key, SET keeps the result, and who
// finds the key taken looks what is there. It has no owner, no renewal, no unknown
// outcome, and forgets who runs when a reply is lost.
func byHand(name string, l load) contender {
	open := func(_ context.Context, addr string) (locks, error) {
		client := redis.NewClient(&redis.Options{Addr: addr})
		next := fresh()
		return locks{
			cycle: func(ctx context.Context, key string) error {
				if l.times > 1 {
					key = "all"
				}
				key = "byhand:" + key + ":" + next(l.times)
				first, err := client.SetNX(ctx, key, "running", lifetime).Result()
				switch {
				case err != nil:
					return err
				case !first:
					return look(ctx, client, key)
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
	return contender{name: name, sends: []string{"set", "setnx", "get"}, open: open}
}

// look is what a duplicate does by hand.
func look(ctx context.Context, client *redis.Client, key string) error {
	text, err := client.Get(ctx, key).Bytes()
	if err != nil || string(text) == "running" {
		return err
	}
	var got receipt
	return json.Unmarshal(text, &got)
}

// measureGuards measures work that must run once.
func (p plan) measureGuards(ctx context.Context, out io.Writer, s *server, l load, g int, b *targets) error {
	f, err := assemble(ctx, s, selected(guards(l), p.only))
	if err != nil {
		return err
	}
	defer f.dismiss()
	f.base = byHandRow
	if err := p.rotate(ctx, f, g); err != nil {
		return err
	}
	b.guarded(f, l, g)
	guardingTable(f, l, g, p).print(out)
	return nil
}

// guarded checks the targets of guards.
func (b *targets) guarded(f *group, l load, g int) {
	if r := f.find(guardRow); r != nil && r.cycles > 0 {
		if g == manyGoroutines && len(r.ratio) > 0 {
			got := median(r.ratio)
			b.check(got >= leastGuardRatio, "at %d goroutines, %s, a guard does at least %.0f× what is written by hand: %.2f×", g, l.name, leastGuardRatio, got)
		}
		if sent := float64(r.sent) / float64(r.cycles); l.times == 1 {
			b.check(sent <= 2.005, "at %d goroutines two round trips for a first call: %.2f", g, sent)
		}
	}
	if r := f.find(replayRow); r != nil && r.cycles > 0 {
		sent := float64(r.sent) / float64(r.cycles)
		b.check(sent <= 3.005, "at %d goroutines one more for a replay elsewhere: %.2f together", g, sent)
	}
	if r := f.find(embeddedRow); r != nil && r.cycles > 0 && g == 1 {
		// The key's text is the caller's, and one more.
		allocs, took := float64(r.mallocs)/float64(r.cycles)-1, float64(r.latency.at(0.5))/float64(time.Microsecond)
		b.check(allocs <= mostGuardAllocs, "on the embedded engine at most %.0f allocations: %.2f", mostGuardAllocs, allocs)
		b.check(took < mostGuardMicros, "on the embedded engine under %.0f µs: %.1f µs", mostGuardMicros, took)
	}
}

func guardingTable(f *group, l load, g int, p plan) *table {
	t := &table{
		title: fmt.Sprintf("Guards, %s: %d goroutines", l.name, g),
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
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. %s%s", p.rounds, p.slice, others(foreign), f.troubles())
	return t
}
