package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// counts are what a server has done since it started. A count that the server does not
// report is NaN.
type counts struct {
	requests     float64 // messages from clients
	transactions float64 // commits of a database, proposals of etcd, changes of ZooKeeper
	syncs        float64 // of its log, to disk
}

// unreported is a count that the server does not report.
var unreported = math.NaN()

func (c counts) minus(other counts) counts {
	return counts{c.requests - other.requests, c.transactions - other.transactions, c.syncs - other.syncs}
}

func (c counts) over(n int) counts {
	return counts{c.requests / float64(n), c.transactions / float64(n), c.syncs / float64(n)}
}

// cells formats the counts as cells of a table.
func (c counts) cells() []string {
	var cells []string
	for _, v := range []float64{c.requests, c.transactions, c.syncs} {
		if math.IsNaN(v) {
			cells = append(cells, "–")
			continue
		}
		cells = append(cells, per(max(v, 0), 1))
	}
	return cells
}

// unmeasured is how many cycles each worker makes before those that are counted, so that
// connections and prepared statements exist.
const unmeasured = 2

// countCycles returns what one cycle of a contender costs the server, with g workers. Some
// servers update their counts only when a client disconnects. So countCycles compares two
// clients, of which the second makes n more cycles per worker.
func (b *backend) countCycles(ctx context.Context, c contender, g, n int) (counts, error) {
	few, err := b.countClient(ctx, c, g, unmeasured)
	if err != nil {
		return counts{}, fmt.Errorf("%s: %w", c.name, err)
	}
	many, err := b.countClient(ctx, c, g, unmeasured+n)
	if err != nil {
		return counts{}, fmt.Errorf("%s: %w", c.name, err)
	}
	return many.minus(few).over(g * n), nil
}

// countClient returns what one client costs the server. The client connects, makes n cycles
// in each of g workers, and disconnects.
func (b *backend) countClient(ctx context.Context, c contender, g, n int) (counts, error) {
	before, err := b.count(ctx)
	if err != nil {
		return counts{}, err
	}
	l, err := c.open(ctx, "")
	if err != nil {
		return counts{}, err
	}
	each := make([]worker, g)
	var all sync.WaitGroup
	for i := range each {
		w := &each[i]
		w.fill(i)
		all.Go(func() {
			for range n { // always with one key: after the first cycle, its nodes or rows exist
				if err := l.cycle(ctx, w.keys[0]); err != nil {
					w.failures.add(err)
				}
			}
		})
	}
	all.Wait()
	l.close()
	for i := range each {
		if t := each[i].failures; t.n > 0 {
			return counts{}, t.first
		}
	}
	after, err := b.count(ctx)
	return after.minus(before), err
}

// awaitNoClient waits until a database has no clients, so that all their transactions have
// ended. clients returns their number.
func awaitNoClient(ctx context.Context, clients func() (string, error)) error {
	for end := time.Now().Add(lockLease); ; time.Sleep(20 * time.Millisecond) {
		n, err := clients()
		if err != nil || n == "0" {
			return err
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return fmt.Errorf("%s clients are still connected after %v", n, lockLease)
		}
	}
}

// parseCounts reads a row of two counters, as psql prints it: commits and syncs.
func parseCounts(text string, requests int64) (counts, error) {
	commits, syncs, ok := strings.Cut(text, "|")
	c := counts{requests: float64(requests), transactions: unreported, syncs: unreported}
	var err error
	if c.transactions, err = strconv.ParseFloat(commits, 64); err != nil || !ok {
		return c, fmt.Errorf("%q is not a row of two counters", text)
	}
	if c.syncs, err = strconv.ParseFloat(syncs, 64); err != nil {
		return c, fmt.Errorf("%q is not a row of two counters", text)
	}
	return c, nil
}

// sumSamples returns the sum of all samples of a metric in the text format of Prometheus,
// whatever their labels. Without a sample it is NaN.
func sumSamples(text, metric string) float64 {
	sum, found := 0.0, false
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), metric)
		if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') {
			continue // another metric, or a comment
		}
		value := rest[strings.LastIndexByte(rest, ' ')+1:]
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			sum, found = sum+v, true
		}
	}
	if !found {
		return unreported
	}
	return sum
}

// monitorValue returns a value of the answer to ZooKeeper's command mntr; NaN if it has none.
func monitorValue(text, name string) float64 {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			if v, err := strconv.ParseFloat(fields[1], 64); err == nil {
				return v
			}
		}
	}
	return unreported
}

// lastTransaction returns the number of the last transaction in the answer to ZooKeeper's
// command srvr. The upper half of the number counts elections.
func lastTransaction(text string) float64 {
	id, err := strconv.ParseUint(strings.TrimPrefix(fieldAfter(text, "Zxid:"), "0x"), 16, 64)
	if err != nil {
		return unreported
	}
	return float64(id & math.MaxUint32)
}
