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
	leastGuardRatio = 3.0 // to the hand-written code, at manyGoroutines
	mostGuardAllocs = 10.0
	mostGuardMicros = 3.0 // on the embedded engine, median
)

// The rows of the tables about guards.
const (
	guardRow    = "Interlock guard"
	byHandRow   = "by hand on go-redis: SETNX, then SET"
	replayRow   = "Interlock guard: first call, then a replay in another process"
	writesRow   = "raw rueidis: a guard's three writes, no checks"
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

// resultRetention is how long results are stored. Every cycle uses a new key, so a long run must
// expire old results.
const resultRetention = 2 * time.Second

// A load sets how many calls use each key, one after the other. Repeats model double
// clicks and retries.
type load struct {
	name  string
	times int64
}

var loads = []load{{"a new key per call", 1}, {"four calls per key", 4}}

// guards returns the rows of the tables about work that must run once.
func guards(l load) []contender {
	rows := []contender{guardContender(guardRow, l), byHandContender(byHandRow, l)}
	if l.times == 1 {
		rows = append(rows, replayContender(replayRow), rawWrites(writesRow), embeddedContender(embeddedRow))
	}
	return rows
}

// guardContender returns a guard as a program uses it.
func guardContender(name string, l load) contender {
	open := func(ctx context.Context, addr string) (locks, error) {
		g, end, err := openGuard(ctx, addr)
		if err != nil {
			return locks{}, err
		}
		return locks{cycle: callOnce(l, g), close: end}, nil
	}
	return contender{name: name, sends: scriptCalls, open: open}
}

// embeddedContender returns a guard on the embedded engine.
func embeddedContender(name string) contender {
	open := func(context.Context, string) (locks, error) {
		g, err := newGuard(memory.New())
		if err != nil {
			return locks{}, err
		}
		return locks{cycle: callOnce(loads[0], g), close: func() { _ = g.Close(context.Background()) }}, nil
	}
	return contender{name: name, sends: scriptCalls, open: open}
}

// replayContender returns a contender that runs the work in one client and replays its result in
// another, like two processes.
func replayContender(name string) contender {
	open := func(ctx context.Context, addr string) (locks, error) {
		first, endFirst, err := openGuard(ctx, addr)
		if err != nil {
			return locks{}, err
		}
		second, endSecond, err := openGuard(ctx, addr)
		if err != nil {
			endFirst()
			return locks{}, err
		}
		next := uniqueNames()
		cycle := func(ctx context.Context, key string) error {
			id := guard.Of(key, next(1))
			if _, err := first.Do(ctx, id, pay); err != nil {
				return err
			}
			got, err := second.Do(ctx, id, mustNotRun)
			if err == nil && got != paid {
				err = errAgain
			}
			return err
		}
		return locks{cycle: cycle, close: func() { endSecond(); endFirst() }}, nil
	}
	return contender{name: name, sends: scriptCalls, open: open}
}

// openGuard opens an engine and a guard, as one process does; end closes both.
func openGuard(ctx context.Context, addr string) (g *guard.Guard[receipt], end func(), err error) {
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
	return guard.New[receipt](interlock.New(e), guard.Policy{Name: "bench", Retain: resultRetention})
}

var errAgain = errors.New("the duplicate ran the work, or got a different result")

// mustNotRun is the work of a duplicate, which must get the stored result instead.
func mustNotRun(context.Context) (receipt, error) { return receipt{}, errAgain }

// callOnce returns a cycle of one call. A refused duplicate counts as success.
func callOnce(l load, g *guard.Guard[receipt]) func(context.Context, string) error {
	next := uniqueNames()
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

// uniqueNames returns a generator of names that are unique across runs. The generator
// returns each name the given number of times.
func uniqueNames() func(times int64) string {
	var seq atomic.Int64
	run := rand.Text()[:8]
	return func(times int64) string {
		var buf [32]byte
		return string(strconv.AppendInt(append(buf[:0], run...), seq.Add(1)/times, 36))
	}
}

// byHandContender returns the usual hand-written code: SETNX claims the key, SET stores the result, and
// a duplicate reads the stored value. There is no owner, renewal or unknown outcome; after
// a lost reply the caller cannot tell whether it claimed the key.
func byHandContender(name string, l load) contender {
	open := func(_ context.Context, addr string) (locks, error) {
		client := redis.NewClient(&redis.Options{Addr: addr})
		next := uniqueNames()
		return locks{
			cycle: func(ctx context.Context, key string) error {
				if l.times > 1 {
					key = "all"
				}
				key = "byhand:" + key + ":" + next(l.times)
				first, err := client.SetNX(ctx, key, "running", lockLease).Result()
				switch {
				case err != nil:
					return err
				case !first:
					return readStoredResult(ctx, client, key)
				}
				text, err := json.Marshal(paid)
				if err != nil {
					return err
				}
				return client.Set(ctx, key, text, resultRetention).Err()
			},
			close: func() { _ = client.Close() },
		}, nil
	}
	return contender{name: name, sends: []string{"set", "setnx", "get"}, open: open}
}

// readStoredResult reads the stored result for a duplicate.
func readStoredResult(ctx context.Context, client *redis.Client, key string) error {
	text, err := client.Get(ctx, key).Bytes()
	if err != nil || string(text) == "running" {
		return err
	}
	var got receipt
	return json.Unmarshal(text, &got)
}

// measureGuards measures work that must run once.
func (p plan) measureGuards(ctx context.Context, out io.Writer, s *server, l load, g int, b *targets) error {
	f, err := openAll(ctx, s, selected(guards(l), p.only))
	if err != nil {
		return err
	}
	defer f.closeAll()
	f.base = byHandRow
	if err := p.rotate(ctx, f, g); err != nil {
		return err
	}
	b.checkGuards(f, l, g)
	guardingTable(f, l, g, p).print(out)
	return nil
}

// checkGuards checks the targets of guards.
func (b *targets) checkGuards(f *group, l load, g int) {
	if r := f.find(guardRow); r != nil && r.cycles > 0 {
		if g == manyGoroutines && len(r.ratio) > 0 {
			got := median(r.ratio)
			b.check(got >= leastGuardRatio, "at %d goroutines, %s, a guard is at least %.0f× as fast as the hand-written code: %.2f×", g, l.name, leastGuardRatio, got)
		}
		if sent := float64(r.sent) / float64(r.cycles); l.times == 1 {
			b.check(sent <= 2.005, "at %d goroutines, a first call takes at most 2 round trips: %.2f", g, sent)
		}
	}
	if r := f.find(replayRow); r != nil && r.cycles > 0 {
		sent := float64(r.sent) / float64(r.cycles)
		b.check(sent <= 3.005, "at %d goroutines, a first call and a replay in another process take at most 3 round trips: %.2f", g, sent)
	}
	if r := f.find(embeddedRow); r != nil && r.cycles > 0 && g == 1 {
		// One allocation is subtracted, because the caller builds the key's text.
		allocs, took := float64(r.mallocs)/float64(r.cycles)-1, float64(r.latency.at(0.5))/float64(time.Microsecond)
		b.check(allocs <= mostGuardAllocs, "on the embedded engine at most %.0f allocations: %.2f", mostGuardAllocs, allocs)
		b.check(took < mostGuardMicros, "on the embedded engine under %.0f µs: %.1f µs", mostGuardMicros, took)
	}
}

func guardingTable(f *group, l load, g int, p plan) *table {
	t := &table{
		title: fmt.Sprintf("Guards, %s: %d goroutines", l.name, g),
		columns: []string{"", "calls/s", "× by hand", "range", "p50 µs", "p99 µs", "allocs/call",
			"commands sent/call", "commands run/call", "Redis CPU µs/call", "client CPU µs/call"},
	}
	var foreign []float64
	for _, r := range f.rows {
		foreign = append(foreign, r.foreign...)
		t.add(r.name, thousands(median(r.rate)), ratio(r.ratio), span(r.ratio, "%.1f"),
			micros(r.latency.at(0.5)), micros(r.latency.at(0.99)), per(float64(r.mallocs), r.cycles),
			per(float64(r.sent), r.cycles), per(float64(r.all), r.cycles), microsPer(r.redisCPU, r.cycles), microsPer(r.clientCPU, r.cycles))
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. %s%s", p.rounds, p.slice, otherLoad(foreign), f.failureText())
	return t
}
