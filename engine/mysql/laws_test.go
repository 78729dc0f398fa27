package mysql_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
)

// lease is the lease of the locks in the laws.
const lease = 1500 * time.Millisecond

var clockedDatabase = lazily(func(t testing.TB) *mysqltest.Database {
	d := migrated(t)
	d.SteppedClock("interlock_clock")
	return d
})

// TestLaws proves R3 on MySQL.
func TestLaws(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, enginetest.Harness{
		Name:  "MariaDB " + mysqltest.Version(t),
		Lease: lease,
		Open:  func(t testing.TB) engine.Engine { return open(t, sharedDatabase(t).URL()) },
		Clocked: func(t testing.TB) engine.Engine {
			d := clockedDatabase(t)
			return clocked{open(t, d.URL()), t, d}
		},
	})
}
