package postgres_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

// The server hands each transaction to another of its two connections.
func TestLawsBehindPgbouncer(t *testing.T) {
	t.Parallel()
	d := migrated(t)
	behind := strings.Replace(d.URL(), d.Server.Addr(), d.Server.StartPooler(t), 1) + "&listen=" + url.QueryEscape(d.URL())
	enginetest.Run(t, enginetest.Harness{
		Name:  "PostgreSQL " + postgrestest.Version(t) + " behind pgbouncer",
		Lease: lease,
		Open:  func(t testing.TB) engine.Engine { return open(t, behind) },
	})
}
