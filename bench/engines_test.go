package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/etcdtest"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// The figures depend on the machine and its disk, so this test does not check them; see the
// README.
func TestEnginesAreComparedWithLocksOfTheirServers(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several servers: make verify runs this benchmark as a program")
	}
	var out bytes.Buffer
	if err := bench(t.Context(), []string{"-short", "-parts", "engines"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !strings.Contains(out.String(), "| "+onRedisRow+" |") {
		t.Errorf("no row %q in\n%s", onRedisRow, &out)
	}
	for kind, rows := range map[string][]string{
		"PostgreSQL": {onPostgresRow, advisoryRow, forUpdateRow, tryingRow, unguardedRow, uniqueKeyRow, doTxRow, guardedTxRow},
		"MariaDB":    {onMySQLRow, getLockRow, mysqlForUpdateRow},
		"etcd":       {onEtcdRow, etcdMutexRow},
		"ZooKeeper":  {onZooKeeperRow, zkLockRow},
	} {
		if notice := "NOT RUN: part \"engines\" on " + kind; strings.Contains(out.String(), notice) {
			t.Log(notice)
			continue
		}
		for _, row := range rows {
			if !strings.Contains(out.String(), "| "+row+" |") {
				t.Errorf("no row %q in\n%s", row, &out)
			}
		}
	}
}

func TestMissingServers(t *testing.T) {
	missing := []error{postgrestest.ErrMissing, mysqltest.ErrMissing, etcdtest.ErrMissing, zookeepertest.ErrMissing}
	t.Run("are named and left out", func(t *testing.T) {
		t.Setenv("CI", "")
		for _, err := range missing {
			var out bytes.Buffer
			if got := leaveOut(&out, "a kind", fmt.Errorf("start: %w", err)); got != nil {
				t.Errorf("error %v, want none", got)
			}
			if want := "NOT RUN: part \"engines\" on a kind: start: " + err.Error(); !strings.Contains(out.String(), want) {
				t.Errorf("printed %q, want %q", &out, want)
			}
		}
	})
	t.Run("are errors in continuous integration", func(t *testing.T) {
		t.Setenv("CI", "true")
		for _, err := range missing {
			if got := leaveOut(new(bytes.Buffer), "a kind", err); !errors.Is(got, err) {
				t.Errorf("error %v, want %v", got, err)
			}
		}
	})
	t.Run("another error is never left out", func(t *testing.T) {
		t.Setenv("CI", "")
		if got := leaveOut(new(bytes.Buffer), "a kind", context.Canceled); !errors.Is(got, context.Canceled) {
			t.Errorf("error %v, want %v", got, context.Canceled)
		}
	})
}

func TestCounters(t *testing.T) {
	const metrics = `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{method="Put"} 2
requests_total{method="Range x"} 3.5
requests_total_more 100
syncs_count 7e+00
`
	const monitor = "zk_version\t3.8.0-1, built on 2022\nzk_packets_received\t1234\nzk_packets_received_more\t9\n"
	const status = "Zookeeper version: 3.8.0-1\nZxid: 0x30000000a\nMode: standalone\n"
	for name, c := range map[string]struct{ got, want float64 }{
		"samples of all labels are added":              {sumSamples(metrics, "requests_total"), 5.5},
		"a sample without labels is read":              {sumSamples(metrics, "syncs_count"), 7},
		"a metric that is absent is unreported":        {sumSamples(metrics, "requests"), unreported},
		"a value of mntr is read":                      {monitorValue(monitor, "zk_packets_received"), 1234},
		"a value that mntr lacks is unreported":        {monitorValue(monitor, "zk_packets"), unreported},
		"elections are not counted in transactions":    {lastTransaction(status), 10},
		"a status without a transaction is unreported": {lastTransaction("Mode: standalone"), unreported},
	} {
		if c.got != c.want && !(math.IsNaN(c.got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	t.Run("a row of psql is read", func(t *testing.T) {
		got, err := parseCounts("120|7", 5)
		if want := (counts{requests: 5, transactions: 120, syncs: 7}); err != nil || got != want {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
		for _, text := range []string{"", "120", "|7", "120|"} {
			if got, err := parseCounts(text, 0); err == nil {
				t.Errorf("%q is %v, want an error", text, got)
			}
		}
	})
	t.Run("an unreported count stays unreported and is printed as a dash", func(t *testing.T) {
		c := counts{40, unreported, 10}.minus(counts{20, unreported, 11}).over(10)
		if got, want := strings.Join(c.cells(), " "), "2.00 – 0.00"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
	})
}

func TestCountCycles(t *testing.T) {
	// This server counts 7 requests of each connection, and 3 of each cycle.
	var requests float64
	b := &backend{count: func(context.Context) (counts, error) { return counts{requests: requests}, nil }}
	c := contender{name: "fake", open: func(context.Context, string) (locks, error) {
		requests += 7
		return locks{close: func() {}, cycle: func(context.Context, string) error {
			requests += 3
			return nil
		}}, nil
	}}
	t.Run("connections are not counted", func(t *testing.T) {
		if got, err := b.countCycles(t.Context(), c, 1, 10); err != nil || got.requests != 3 {
			t.Errorf("%v requests per cycle, %v, want 3", got.requests, err)
		}
	})
	t.Run("a cycle that fails is an error", func(t *testing.T) {
		failing := c
		failing.open = func(context.Context, string) (locks, error) {
			return locks{close: func() {}, cycle: func(context.Context, string) error { return errAgain }}, nil
		}
		if _, err := b.countCycles(t.Context(), failing, 1, 10); !errors.Is(err, errAgain) {
			t.Errorf("error %v, want %v", err, errAgain)
		}
	})
}

func TestRatios(t *testing.T) {
	r, base := []float64{2, 9, 8}, []float64{1, 3, 16}
	if got := fmt.Sprint(ratios(r, base)); got != "[2 3 0.5]" {
		t.Errorf("ratios %s, want those of the same rounds: [2 3 0.5]", got)
	}
	if got := ratios(r, nil); got != nil {
		t.Errorf("ratios %v to no row, want none", got)
	}
	all := []*backend{
		{peer: "a's peer", uncontended: []contender{{name: "a"}}},
		{peer: "b's peer", handOver: []contender{{name: "b"}}},
	}
	for name, want := range map[string]string{"a": "a's peer", "b": "b's peer", "c": ""} {
		if got := peerOf(all, name); got != want {
			t.Errorf("the peer of %q is %q, want %q", name, got, want)
		}
	}
}

// shared returns a contender whose clients share one lock, which so many of them can hold at
// once.
func shared(holders int) contender {
	held := make(chan struct{}, holders)
	return contender{name: "shared", open: func(context.Context, string) (locks, error) {
		return locks{lock: func(ctx context.Context, _ string) (func() error, error) {
			select {
			case held <- struct{}{}:
				return func() error { <-held; return nil }, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}, nil
	}}
}

func TestRelay(t *testing.T) {
	open := func(t *testing.T, c contender) *relay {
		t.Helper()
		r, err := openRelay(t.Context(), c, "key", time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.close)
		return r
	}
	t.Run("the clients hold the lock by turns", func(t *testing.T) {
		r := open(t, shared(1))
		for want := range 4 {
			if r.holder != want%2 {
				t.Fatalf("client %d holds the lock, want %d", r.holder, want%2)
			}
			if took, err := r.pass(t.Context()); err != nil || took <= 0 {
				t.Fatalf("a hand-over of %v, %v", took, err)
			}
		}
	})
	t.Run("two holders are an error", func(t *testing.T) {
		r := open(t, shared(2))
		r.hold = time.Minute // the second grant arrives during the hold
		if _, err := r.pass(t.Context()); !errors.Is(err, errOverlap) {
			t.Errorf("error %v, want %v", err, errOverlap)
		}
	})
}
