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

// measureEngines compares each engine with Interlock on Redis, and with what people use on
// its server.
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
	p.maxTries = 1 // the servers' own work would count as other programs
	fmt.Fprintf(out, "\nServers of the engines, each alone and on this machine: %s. %s\n", strings.Join(names, ", "), p.durability())
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
		return "They sync to disk before they answer; only the first Redis stores nothing."
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
		title: fmt.Sprintf("Engines, uncontended, keys of their own: %d goroutines", g),
		columns: []string{"", "cycles/s", "× peer", "middle half", "× Interlock on Redis", "middle half", "p50 µs", "p99 µs",
			"requests/cycle", "transactions/cycle", "syncs/cycle"},
	}
	for _, r := range f.rows {
		peer, redis := ratios(r, f.find(peerOf(all, r.name))), ratios(r, f.find(onRedisRow))
		t.add(append([]string{
			r.name, thousands(median(r.rate)), ratio(peer), half(peer, "%.2f"), ratio(redis), half(redis, "%.2f"),
			micros(r.latency.at(0.5)), micros(r.latency.at(0.99)),
		}, costs[r.name].cells()...)...)
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. The peer is the other row on the same server; of PostgreSQL, "+
		"%s, of MariaDB, %s.%s", p.rounds, p.slice, advisoryRow, getLockRow, f.failureText())
	return t
}

// peerOf returns the row that a row is compared with on its own server.
func peerOf(all []*backend, name string) string {
	for _, b := range all {
		if slices.ContainsFunc(slices.Concat(b.uncontended, b.relayed), func(c contender) bool { return c.name == name }) {
			return b.peer
		}
	}
	return ""
}

// ratios returns the ratio of the rates of two rows in each round.
func ratios(r, base *row) []float64 {
	if base == nil {
		return nil
	}
	var all []float64
	for i := range min(len(r.rate), len(base.rate)) {
		all = append(all, r.rate[i]/base.rate[i])
	}
	return all
}

// A relayed is a row of the table about hand-overs.
type relayed struct {
	name    string
	times   histogram
	medians []float64 // of each round, in µs
}

// measureRelays measures how long a lock takes from one client to another.
func (p plan) measureRelays(ctx context.Context, out io.Writer, all []*backend) error {
	var (
		rows   []*relayed
		relays []*relay
	)
	defer func() {
		for _, r := range relays {
			r.close()
		}
	}()
	for _, b := range all {
		for _, c := range selected(b.relayed, p.only) {
			r, err := openRelay(ctx, c, fmt.Sprintf("bench:relay:%d", len(relays)), p.relayHold)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			rows, relays = append(rows, &relayed{name: c.name}), append(relays, r)
		}
	}
	for _, r := range relays { // connect the second clients, too
		for range len(r.clients) {
			if _, err := r.pass(ctx); err != nil {
				return err
			}
		}
	}
	for range p.relays {
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
func (y *relayed) measure(ctx context.Context, r *relay, passes int) error {
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

func relayTable(rows []*relayed, all []*backend, p plan) *table {
	t := &table{
		title:   "Engines, hand-over of one key between two clients",
		columns: []string{"", "p50 µs", "p99 µs", "time × peer", "middle half", "time × Interlock on Redis", "middle half"},
	}
	find := func(name string) *row {
		for _, y := range rows {
			if y.name == name {
				return &row{rate: y.medians}
			}
		}
		return nil
	}
	for _, y := range rows {
		own := &row{rate: y.medians}
		peer, redis := ratios(own, find(peerOf(all, y.name))), ratios(own, find(onRedisRow))
		t.add(y.name, micros(y.times.at(0.5)), micros(y.times.at(0.99)), ratio(peer), half(peer, "%.2f"), ratio(redis), half(redis, "%.2f"))
	}
	t.remark = fmt.Sprintf("%d rounds of %d hand-overs, each after a hold of %v; no two holds overlapped (the program would have failed). "+
		"A ratio compares the medians of one round.", p.relays, p.passes, p.relayHold)
	return t
}
