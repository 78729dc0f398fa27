package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxEngineCallers is the highest number of callers in the part "engines". A hand-written
// lock of PostgreSQL needs a connection for each.
const maxEngineCallers = 64

// measureEngines compares each engine with Interlock on Redis, and with the usual
// hand-written locks on the same server.
func (p plan) measureEngines(ctx context.Context, out io.Writer, s *server) error {
	all, err := startBackends(ctx, out, p.synced)
	if err != nil {
		return err
	}
	defer stopBackends(all)
	var names []string
	for _, b := range all {
		names = append(names, b.name)
	}
	// The CPU time of these servers counts as that of other programs, so quietest would
	// repeat each measurement.
	p.maxTries = 1
	fmt.Fprintf(out, "\nServers of the engines, single nodes that all run on this machine: %s. %s\n", strings.Join(names, ", "), p.durability())
	for _, g := range p.goroutines {
		if g > maxEngineCallers {
			continue
		}
		if err := p.measureEngineLocks(ctx, out, s, all, g); err != nil {
			return err
		}
	}
	if err := p.measureRelays(ctx, out, all); err != nil {
		return err
	}
	for _, b := range all {
		if b.postgres == nil {
			continue
		}
		for _, g := range p.goroutines {
			if g > maxEngineCallers {
				continue
			}
			if err := p.measureGuardedTx(ctx, out, s, b, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// durability says what the servers do before they answer.
func (p plan) durability() string {
	if p.synced {
		return "They sync to disk before they answer. The Redis of the row \"" + onRedisRow + "\" stores nothing."
	}
	return "None of them syncs to disk."
}

// measureEngineLocks measures uncontended locks with g goroutines.
func (p plan) measureEngineLocks(ctx context.Context, out io.Writer, s *server, all []*backend, g int) error {
	var rows []contender
	for _, b := range all {
		rows = append(rows, selected(b.uncontended, p.only)...)
	}
	f, err := openAll(ctx, s, rows)
	if err != nil {
		return err
	}
	err = p.rotate(ctx, f, g)
	f.closeAll()
	if err != nil {
		return err
	}
	costs := make(map[string]counts)
	for _, b := range all {
		for _, c := range selected(b.uncontended, p.only) {
			if costs[c.name], err = b.countCycles(ctx, c, g, p.counted); err != nil {
				return err
			}
		}
	}
	engineTable(f, all, costs, g, p).print(out)
	return nil
}

func engineTable(f *group, all []*backend, costs map[string]counts, g int, p plan) *table {
	t := &table{
		title: fmt.Sprintf("Engines without contention: %d goroutines, each with its own keys", g),
		columns: []string{"", "cycles/s", "rate / peer", "middle half", "rate / Interlock on Redis", "middle half", "p50 µs", "p99 µs",
			"requests/cycle", "transactions/cycle", "syncs/cycle"},
	}
	for _, r := range f.rows {
		peer, redis := ratios(r.rate, f.rates(peerOf(all, r.name))), ratios(r.rate, f.rates(onRedisRow))
		t.add(append([]string{
			r.name, thousands(median(r.rate)), ratio(peer), half(peer, "%.2f"), ratio(redis), half(redis, "%.2f"),
			micros(r.latency.at(0.5)), micros(r.latency.at(0.99)),
		}, costs[r.name].cells()...)...)
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. The peer is one row on the same server: %q, %q, %q, %q or %q. "+
		"The middle half is the range between the quartiles.%s", p.rounds, p.slice, onRedisRow, advisoryRow, getLockRow, etcdMutexRow, zkLockRow, f.failureText())
	return t
}

// peerOf returns the row that a row is compared with on its own server.
func peerOf(all []*backend, name string) string {
	for _, b := range all {
		if slices.ContainsFunc(slices.Concat(b.uncontended, b.handOver), func(c contender) bool { return c.name == name }) {
			return b.peer
		}
	}
	return ""
}

// ratios returns the ratio of two rows' values in each round.
func ratios(values, base []float64) []float64 {
	var all []float64
	for i := range min(len(values), len(base)) {
		all = append(all, values[i]/base[i])
	}
	return all
}

// A handOverRow is a row of the table about hand-overs.
type handOverRow struct {
	name    string
	times   histogram
	medians []float64 // of each round, in µs
}

// measureRelays measures hand-overs of a lock between two clients: from the release call of
// one to the return of the other's acquire call.
func (p plan) measureRelays(ctx context.Context, out io.Writer, all []*backend) error {
	var (
		rows   []*handOverRow
		relays []*relay
	)
	defer func() {
		for _, r := range relays {
			r.close()
		}
	}()
	for _, b := range all {
		for _, c := range selected(b.handOver, p.only) {
			r, err := openRelay(ctx, c, fmt.Sprintf("bench:relay:%d", len(relays)), p.relayHold)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			rows, relays = append(rows, &handOverRow{name: c.name}), append(relays, r)
		}
	}
	// Warm up: one unmeasured hand-over in each direction, so that both clients have acquired
	// the lock.
	for _, r := range relays {
		for range len(r.clients) {
			if _, err := r.pass(ctx); err != nil {
				return err
			}
		}
	}
	for range p.relayRounds {
		for i, r := range relays {
			if err := rows[i].measure(ctx, r, p.passes); err != nil {
				return fmt.Errorf("%s: %w", rows[i].name, err)
			}
		}
	}
	relayTable(rows, all, p).print(out)
	return nil
}

// measure passes the lock a number of times.
func (y *handOverRow) measure(ctx context.Context, r *relay, passes int) error {
	var times histogram
	for range passes {
		took, err := r.pass(ctx)
		if err != nil {
			return err
		}
		times.add(took)
	}
	y.times.merge(&times)
	y.medians = append(y.medians, 1000*millis(times.at(0.5)))
	return nil
}

func relayTable(rows []*handOverRow, all []*backend, p plan) *table {
	t := &table{
		title:   "Engines, hand-over of one key between two clients",
		columns: []string{"", "p50 µs", "p99 µs", "time / peer", "middle half", "time / Interlock on Redis", "middle half"},
	}
	find := func(name string) []float64 {
		for _, y := range rows {
			if y.name == name {
				return y.medians
			}
		}
		return nil
	}
	for _, y := range rows {
		peer, redis := ratios(y.medians, find(peerOf(all, y.name))), ratios(y.medians, find(onRedisRow))
		t.add(y.name, micros(y.times.at(0.5)), micros(y.times.at(0.99)), ratio(peer), half(peer, "%.2f"), ratio(redis), half(redis, "%.2f"))
	}
	t.remark = fmt.Sprintf("%d rounds of %d hand-overs, each after a hold of %v to %v; no two holds overlapped (the program would have failed). "+
		"A ratio compares the medians of one round.", p.relayRounds, p.passes, p.relayHold, p.relayHold*4/3)
	return t
}
