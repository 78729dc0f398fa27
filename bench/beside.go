package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/interlock-go/interlock"
)

// A keyed function makes one call, or handles one message, with the given key.
type keyed func(ctx context.Context, key string) error

// beside returns two rows: a library with a bare handler, and with our Once on the embedded
// engine. Each cycle has a new key. open gets no client for the bare handler.
func beside(name string, open func(ctx context.Context, client *interlock.Client) (run keyed, end func(), err error)) []contender {
	row := func(name string, guarded bool) contender {
		return contender{name: name, open: func(ctx context.Context, _ string) (locks, error) {
			var client *interlock.Client
			if guarded {
				client = interlock.New(nil)
			}
			run, end, err := open(ctx, client)
			if err != nil {
				return locks{}, err
			}
			next := uniqueNames()
			return locks{
				cycle: func(ctx context.Context, _ string) error { return run(ctx, next(1)) },
				close: func() {
					end()
					if guarded {
						_ = client.Close(context.Background())
					}
				},
			}, nil
		}}
	}
	return []contender{row(name, false), row(name+guardedSuffix, true)}
}

// bareOf returns the row with the bare handler of a row's framework, or nil.
func (f *group) bareOf(r *row) *row {
	name, ok := strings.CutSuffix(r.name, guardedSuffix)
	if !ok {
		name = map[string]string{onceRow: bareRow, fiberRow: "fiber"}[r.name]
	}
	if bare := f.find(name); bare != nil && bare.cycles > 0 && r.cycles > 0 {
		return bare
	}
	return nil
}

// addedTo returns what a row takes more than its bare row per cycle, at the median.
func (r *row) addedTo(bare *row) (microseconds, allocs float64) {
	return micro(r.latency.at(0.5)) - micro(bare.latency.at(0.5)),
		float64(r.mallocs)/float64(r.cycles) - float64(bare.mallocs)/float64(bare.cycles)
}

// A besideTable compares rows of [beside].
type besideTable struct {
	title, rate string
	rows        []contender
	withRatio   bool // of the rates; it says nothing if the bare handler does nothing
}

// measureBeside measures the rows of a table, with one caller.
func (p plan) measureBeside(ctx context.Context, out io.Writer, s *server, b besideTable) error {
	f, err := openAll(ctx, s, selected(b.rows, p.only))
	if err != nil {
		return err
	}
	defer f.closeAll()
	if err := p.rotate(ctx, f, 1); err != nil {
		return err
	}
	t := &table{title: b.title, columns: []string{"", b.rate, "p50 µs", "added µs", "allocs", "added allocs"}}
	if b.withRatio {
		t.columns = append(t.columns, "rate × bare")
	}
	var foreign []float64
	for _, r := range f.rows {
		foreign = append(foreign, r.foreign...)
		times, added, allocs := "–", "–", "–"
		if bare := f.bareOf(r); bare != nil {
			for i, rate := range r.rate {
				r.ratio = append(r.ratio, rate/bare.rate[i])
			}
			took, more := r.addedTo(bare)
			times, added, allocs = ratio(r.ratio), fmt.Sprintf("%.1f", took), fmt.Sprintf("%.1f", more)
		}
		cells := []string{r.name, thousands(median(r.rate)), micros(r.latency.at(0.5)), added, per(float64(r.mallocs), r.cycles), allocs, times}
		t.add(cells[:len(t.columns)]...)
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. %s%s", p.rounds, p.slice, otherLoad(foreign), f.failureText())
	t.print(out)
	return nil
}
