package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/engine"
)

// tables are those whose rows expire.
var tables = []string{"hold", "waiter", "ended", "latch", "record", "unit", "client", "floor"}

func TestExpiredRowsAreRemoved(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), migrated(t)
	e := open(t, d.URL())
	c := e.Capabilities()
	const lease = time.Hour
	fill := func(suffix string) {
		r := request(t, "ann:1", "1")
		r.Key, r.Lease, r.FenceReserve = suffix, lease, 50
		granted(t, e, r)
		w := request(t, "bob:1", "1")
		w.Key, w.Lease, w.QueueLease, w.Kind = suffix, lease, lease, engine.Fair
		_, _ = e.Acquire(ctx, w)
		_, _ = e.Abandon(ctx, engine.Request{Key: suffix, Holder: "cat:1", Attempt: "1", Lease: lease})
		_, _ = e.CountDown(ctx, engine.Request{Key: suffix + "latch", Limit: 2, Lease: lease})
		_, _ = c.Ledger.Claim(ctx, engine.Claim{Key: suffix, Attempt: "1", Lease: lease})
		_, _ = c.Quotas.Take(ctx, engine.Quota{Key: suffix, Attempt: "1", Limit: 1, Window: lease})
		_ = e.Register(ctx, engine.Member{ID: suffix}, lease)
	}
	fill("live")
	fill("expired")
	for _, table := range tables[:len(tables)-1] {
		d.Exec(t, "UPDATE interlock."+table+" SET expires = 0 WHERE id IN (sha256('expired'), sha256('expiredlatch'), 'expired')")
	}
	d.Exec(t, "SELECT nextval('interlock.fence') FROM generate_series(1, 3)") // passes the floor of the second
	d.Exec(t, "UPDATE interlock.floor SET fence = 1000000 WHERE id = sha256('live')")
	for _, table := range tables {
		if n := d.Exec(t, "SELECT count(*) FROM interlock."+table); n != "2" {
			t.Errorf("%s has %s rows, want 2", table, n)
		}
	}
	d.Exec(t, "SELECT interlock.sweep_from('')")
	for _, table := range tables {
		if n := d.Exec(t, "SELECT count(*) FROM interlock."+table); n != "1" {
			t.Errorf("after a sweep %s has %s rows, want 1", table, n)
		}
	}
}

func TestCallsRemoveExpiredRows(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), migrated(t)
	e := open(t, d.URL())
	for i := range 100 {
		r := engine.Request{Key: fmt.Sprint("expired", i), Holder: "ann:1", Attempt: "1", Lease: time.Microsecond}
		granted(t, e, r)
	}
	r := request(t, "bob:1", "")
	for i := 0; d.Exec(t, "SELECT count(*) FROM interlock.hold WHERE expires < interlock.clock()") != "0"; i++ {
		if i == 100 {
			t.Fatal("expired rows are left after 10,000 calls")
		}
		for turn := range 100 {
			r.Attempt = fmt.Sprint(i, turn)
			granted(t, e, r)
			if _, err := e.Release(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestASweepSkipsLockedRows(t *testing.T) {
	t.Parallel()
	d := migrated(t)
	e := open(t, d.URL())
	granted(t, e, engine.Request{Key: "expired", Holder: "ann:1", Attempt: "1", Lease: time.Hour})
	d.Exec(t, "UPDATE interlock.hold SET expires = 0") // after the call, which may sweep
	tx := begin(t, d.URL(), "")
	if _, err := tx.Exec(context.Background(), "SELECT FROM interlock.hold FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	d.Exec(t, "SET lock_timeout = '20s'; SELECT interlock.sweep_from('')")
	if n := d.Exec(t, "SELECT count(*) FROM interlock.hold"); n != "1" {
		t.Errorf("there are %s holds, want 1", n)
	}
}

func TestAHolderWhoseExpiredRowIsDeletedMeanwhileDoesNotEnterAgain(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), migrated(t)
	e := open(t, d.URL())
	r := request(t, "ann:1", "1")
	granted(t, e, r)
	sweep := begin(t, d.URL(), pgx.ReadCommitted)
	if _, err := sweep.Exec(ctx, "DELETE FROM interlock.hold"); err != nil {
		t.Fatal(err)
	}
	entered := make(chan engine.Grant, 1)
	go func() {
		r.Attempt = "2"
		g, err := e.Acquire(ctx, r)
		if err != nil {
			t.Error(err)
		}
		entered <- g
	}()
	eventually(t, "the holder waits for the deleted row", func() bool {
		return d.Exec(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'transactionid'") == "1"
	})
	if err := sweep.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if g := <-entered; g.Count != 1 {
		t.Errorf("got %+v, want a new hold", g)
	}
	if n := d.Exec(t, "SELECT count(*) FROM interlock.hold"); n != "1" {
		t.Errorf("there are %s holds, want 1", n)
	}
}

// Transactions of callers do not sweep, because they may be long.
func TestTransactionsLeaveNoExpiredRows(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), migrated(t)
	e := open(t, d.URL())
	const n = 300
	for i := range n {
		tx := begin(t, d.URL(), pgx.ReadCommitted)
		c := engine.Claim{Key: fmt.Sprint("expired", i), Attempt: "1", Lease: time.Minute, Retain: time.Minute}
		claimedTx(t, e, tx, c)
		settledTx(t, e, tx, engine.Settlement{Key: c.Key, Attempt: "1", Outcome: engine.Done, Retain: time.Microsecond})
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		_ = tx.Conn().Close(ctx)
	}
	if left := d.Exec(t, "SELECT count(*) FROM interlock.record"); left == fmt.Sprint(n) {
		t.Errorf("all %s expired records are left", left)
	}
}
