package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

// serializable is a database whose transactions are serializable by default.
var serializable = lazily(func(t testing.TB) *postgrestest.Database {
	d := migrated(t)
	d.Exec(t, "ALTER DATABASE "+d.Name+" SET default_transaction_isolation = 'serializable'")
	return d
})

// The statements are those behind a pooler: none is prepared, and no notice arrives. Each
// call begins its own transaction.
func TestLawsBehindAPooler(t *testing.T) {
	t.Parallel()
	postgrestest.SkipIfShort(t)
	enginetest.Run(t, enginetest.Harness{
		Name:  "PostgreSQL " + postgrestest.Version(t) + " without notices and prepared statements, serializable by default",
		Lease: lease,
		Open:  func(t testing.TB) engine.Engine { return open(t, serializable(t).URL()+"&listen=off") },
	})
}

func TestAnotherDefaultIsolationDoesNotGrantTooMuch(t *testing.T) {
	t.Parallel()
	d := serializable(t)
	const callers, limit = 40, 3
	var (
		granted atomic.Int32
		all     sync.WaitGroup
	)
	e := open(t, d.URL())
	for i := range callers {
		all.Go(func() {
			r := request(t, fmt.Sprint("caller:", i), "1")
			r.Kind, r.Limit = engine.Permit, limit
			if _, err := e.Acquire(context.Background(), r); err == nil {
				granted.Add(1)
			}
		})
	}
	all.Wait()
	if n := granted.Load(); n != limit {
		t.Errorf("%d permits were granted, want %d", n, limit)
	}
	h, err := e.Probe(context.Background())
	if err != nil || !strings.Contains(strings.Join(h.Notices, " "), "default_transaction_isolation") {
		t.Errorf("probe: %+v, error %v; want a notice about the isolation", h, err)
	}
}
