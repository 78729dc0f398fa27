package main

import (
	"context"
	"fmt"
	"io"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
)

// mostFair is the target: a fair lock may cost at most that multiple of a plain lock.
const mostFair = 1.3

const fairRow = "fair"

// kinds returns the rows of the tables that compare kinds of locks with a plain lock.
func kinds() []contender {
	return []contender{
		kindContender(plainRow, func(c *interlock.Client, key string) interlock.Locker { return c.Mutex(key) }),
		kindContender(fairRow, func(c *interlock.Client, key string) interlock.Locker { return c.Mutex(key, interlock.Fair()) }),
		kindContender("read", func(c *interlock.Client, key string) interlock.Locker { return c.RWMutex(key).Read() }),
		kindContender("write", func(c *interlock.Client, key string) interlock.Locker { return c.RWMutex(key).Write() }),
		kindContender("a permit of 4", func(c *interlock.Client, key string) interlock.Locker { return c.Semaphore(key, 4).Permit() }),
	}
}

// kindContender returns Interlock as a program uses it, with one kind of lock.
func kindContender(name string, lock func(*interlock.Client, string) interlock.Locker) contender {
	open := func(ctx context.Context, addr string) (locks, error) {
		e, err := redisengine.Open(ctx, "redis://"+addr, redisengine.Prefix(name+":"))
		if err != nil {
			return locks{}, err
		}
		c := interlock.New(e)
		wait := func(ctx context.Context, key string) (func() error, error) {
			_, hold, err := lock(c, key).Lock(ctx)
			if err != nil {
				return nil, err
			}
			return hold.Unlock, nil
		}
		return locks{
			cycle: func(ctx context.Context, key string) error {
				unlock, err := wait(ctx, key)
				if err != nil {
					return err
				}
				return unlock()
			},
			lock: wait,
			close: func() {
				_ = c.Close(context.Background())
				_ = e.Close()
			},
		}, nil
	}
	return contender{name: name, sends: scriptCalls, open: open}
}

// measureKinds compares other kinds of uncontended locks with a plain one.
func (p plan) measureKinds(ctx context.Context, out io.Writer, s *server, g int, b *targets) error {
	f, err := openAll(ctx, s, kinds())
	if err != nil {
		return err
	}
	defer f.closeAll()
	f.base = plainRow
	if err := p.rotate(ctx, f, g); err != nil {
		return err
	}
	if r := f.find(fairRow); r != nil && len(r.ratio) > 0 {
		cost := 1 / median(r.ratio)
		b.check(cost <= mostFair, "at %d goroutines a fair lock costs at most %.1f× a plain one: %.2f×", g, mostFair, cost)
	}
	comparingTable(f, g, p).print(out)
	return nil
}

// rotate warms up every contender, so that connections and scripts exist, and then
// measures the contenders alternately.
func (p plan) rotate(ctx context.Context, f *group, g int) error {
	for _, r := range f.rows {
		if _, err := f.cycle(ctx, r, g, p.slice/5); err != nil {
			return err
		}
	}
	for range p.rounds {
		for _, r := range f.rows {
			t, err := quietest(p.maxTries, func() (*measurement, error) { return f.cycle(ctx, r, g, p.slice) })
			if err != nil {
				return err
			}
			r.addMeasurement(t)
		}
		f.compare()
	}
	return nil
}

func comparingTable(f *group, g int, p plan) *table {
	t := &table{
		title: fmt.Sprintf("Kinds, uncontended, keys of their own: %d goroutines", g),
		columns: []string{"", "cycles/s", "cost × plain", "range", "p50 µs", "p99 µs", "allocs/cycle",
			"commands sent/cycle", "commands run/cycle", "Redis CPU µs/cycle"},
	}
	var foreign []float64
	for _, r := range f.rows {
		foreign = append(foreign, r.foreign...)
		costs := make([]float64, len(r.ratio))
		for i, x := range r.ratio {
			costs[i] = 1 / x
		}
		t.add(r.name, thousands(median(r.rate)), ratio(costs), span(costs, "%.2f"),
			micros(r.latency.at(0.5)), micros(r.latency.at(0.99)), per(float64(r.mallocs), r.cycles),
			per(float64(r.sent), r.cycles), per(float64(r.all), r.cycles), microsPer(r.redisCPU, r.cycles))
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. %s%s", p.rounds, p.slice, otherLoad(foreign), f.failureText())
	return t
}

// measureQueues measures one key that n goroutines wait for, plain and fair.
func (p plan) measureQueues(ctx context.Context, out io.Writer, s *server, n int) error {
	f, err := openAll(ctx, s, selected(kinds(), plainRow+";"+fairRow+";write"))
	if err != nil {
		return err
	}
	defer f.closeAll()
	if err := p.contend(ctx, f, n); err != nil {
		return err
	}
	t := contendedTable(f, n, p)
	t.title = fmt.Sprintf("Kinds, contended, one key, one process: %d goroutines", n)
	t.print(out)
	return nil
}
