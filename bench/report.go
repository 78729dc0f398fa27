package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// measureUncontended measures uncontended locks with g goroutines, and the limit of the
// server.
func (p plan) measureUncontended(ctx context.Context, out io.Writer, s *server, calls *scripts, g int, b *targets) error {
	f, err := openAll(ctx, s, selected(uncontended(calls), p.only))
	if err != nil {
		return err
	}
	defer f.closeAll()
	var top *ceiling
	if _, err := exec.LookPath("redis-benchmark"); err == nil && p.only == "" {
		top = &ceiling{server: s, scripts: calls}
	}
	for _, r := range f.rows { // connect, load scripts, warm up
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
		if top == nil {
			continue
		}
		if err := top.measure(ctx, p.calls); err != nil {
			return err
		}
		if base := f.find(redsyncRow); base != nil {
			top.ratio = append(top.ratio, top.rate[len(top.rate)-1]/base.rate[len(base.rate)-1])
		}
	}
	b.checkUncontended(f, top, g)
	uncontendedTable(f, top, g, p).print(out)
	return nil
}

func uncontendedTable(f *group, top *ceiling, g int, p plan) *table {
	t := &table{
		title: fmt.Sprintf("Uncontended, keys of their own: %d goroutines", g),
		columns: []string{"", "cycles/s", "× redsync", "range", "p50 µs", "p99 µs", "allocs/cycle",
			"commands sent/cycle", "commands run/cycle", "Redis CPU µs/cycle", "client CPU µs/cycle"},
	}
	var foreign []float64
	for _, r := range f.rows {
		foreign = append(foreign, r.foreign...)
		t.add(r.name, thousands(median(r.rate)), ratio(r.ratio), span(r.ratio, "%.1f"),
			micros(r.latency.at(0.5)), micros(r.latency.at(0.99)),
			per(float64(r.mallocs), r.cycles), per(float64(r.sent), r.cycles), per(float64(r.all), r.cycles),
			microsPer(r.redisCPU, r.cycles), microsPer(r.clientCPU, r.cycles))
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. %s%s", p.rounds, p.slice, otherLoad(foreign), f.failureText())
	if top != nil {
		t.add("*ceiling: redis-benchmark -P 64, our two scripts*", thousands(median(top.rate)), ratio(top.ratio),
			span(top.ratio, "%.1f"), "", "", "", "2.00", "", "", "")
		t.remark += fmt.Sprintf(" Ceiling: %s acquires/s and %s releases/s, of which %.0f %% found a lock.",
			thousands(median(top.acquires)), thousands(median(top.releases)), 100*median(top.hits))
	}
	return t
}

func ratio(ratios []float64) string {
	if len(ratios) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", median(ratios))
}

// measureContended measures one key that n goroutines wait for.
func (p plan) measureContended(ctx context.Context, out io.Writer, s *server, n int, b *targets) error {
	f, err := openAll(ctx, s, selected(contended(), p.only))
	if err != nil {
		return err
	}
	defer f.closeAll()
	if err := p.contend(ctx, f, n); err != nil {
		return err
	}
	b.checkContended(f, n)
	contendedTable(f, n, p).print(out)
	return nil
}

// contend lets n goroutines wait for one key, with each contender.
func (p plan) contend(ctx context.Context, f *group, n int) error {
	for _, r := range f.rows { // connect, load scripts
		if err := r.cycle(ctx, "bench:warm-up"); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	for range p.contendedRounds {
		for _, r := range f.rows {
			s, err := quietest(p.maxTries, func() (*contest, error) { return f.contest(ctx, r, n, p.grants) })
			if err != nil {
				return err
			}
			r.addContended(s)
		}
	}
	return nil
}

func contendedTable(f *group, n int, p plan) *table {
	t := &table{
		title: fmt.Sprintf("Contended, one key, one process: %d goroutines", n),
		columns: []string{"", "total / Σ hold", "hand-over p50 µs", "p99 µs", "commands sent/grant", "commands run/grant",
			"allocs/grant", "re-granted", "Jain", "never granted", "longest wait ms"},
	}
	var foreign []float64
	for _, r := range f.rows {
		foreign = append(foreign, r.foreign...)
		t.add(r.name, fmt.Sprintf("%.3f", median(r.total)), micros(r.latency.at(0.5)), micros(r.latency.at(0.99)),
			per(float64(r.sent), r.cycles), per(float64(r.all), r.cycles), per(float64(r.mallocs), r.cycles),
			fmt.Sprintf("%.0f %%", 100*float64(r.self)/float64(r.cycles)), fmt.Sprintf("%.3f", median(r.jain)),
			fmt.Sprintf("%.0f of %d", median(r.starved), n), fmt.Sprintf("%.0f", median(r.longest)))
	}
	t.remark = fmt.Sprintf("%d rounds of %d grants, each held for %v of sleep; no two holds overlapped (the program would have failed). %s%s",
		p.contendedRounds, p.grants, hold, otherLoad(foreign), f.failureText())
	return t
}

// measureStorm measures one key that many goroutines try once, at the same time.
func (p plan) measureStorm(ctx context.Context, out io.Writer, s *server) error {
	f, err := openAll(ctx, s, selected(stormRows(), p.only))
	if err != nil {
		return err
	}
	defer f.closeAll()
	for _, r := range f.rows { // connect, load scripts
		if _, err := f.storm(ctx, r, p.callers); err != nil {
			return err
		}
	}
	for range p.stormRounds {
		for _, r := range f.rows {
			s, err := f.storm(ctx, r, p.callers)
			if err != nil {
				return err
			}
			r.addStorm(s)
		}
	}
	stormTable(f, p).print(out)
	return nil
}

func stormTable(f *group, p plan) *table {
	t := &table{
		title:   fmt.Sprintf("Storm, one key: %d goroutines try it once, at the same time", p.callers),
		columns: []string{"", "p50 ms", "max ms", "commands sent", "commands run"},
	}
	for _, r := range f.rows {
		t.add(r.name, fmt.Sprintf("%.2f", median(r.took)), fmt.Sprintf("%.2f", slices.Max(r.took)),
			per(float64(r.sent), r.cycles), per(float64(r.all), r.cycles))
	}
	t.remark = fmt.Sprintf("%d rounds, none with two winners (the program would have failed). The time ends when the last caller "+
		"has its answer. The commands include the winner's release.%s", p.stormRounds, f.failureText())
	return t
}

// failureText summarizes failed calls.
func (f *group) failureText() string {
	var text strings.Builder
	for _, r := range f.rows {
		if t := r.failures; t.n > 0 {
			fmt.Fprintf(&text, " %s: %d calls failed, the first with %q.", r.name, t.n, t.first)
		}
	}
	return text.String()
}

// otherLoad reports the CPU that other programs used.
func otherLoad(foreign []float64) string {
	return fmt.Sprintf("Other programs kept %.2f cores busy (median over measurements; %s).", median(foreign), span(foreign, "%.2f"))
}

// maxOtherLoad is the most cores that other programs may use during a measurement.
const maxOtherLoad = 0.25

// quietest repeats a measurement up to tries times, until other programs use at most
// maxOtherLoad, and returns the measurement with the least other load.
func quietest[T interface{ noise() float64 }](tries int, measure func() (T, error)) (best T, err error) {
	for try := range tries {
		got, err := measure()
		if err != nil {
			return got, err
		}
		if try == 0 || got.noise() < best.noise() {
			best = got
		}
		if best.noise() <= maxOtherLoad {
			break
		}
	}
	return best, nil
}
