package torture

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/mysqltest"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// TestEngineQuotas is TestQuota on the other engines that have quotas.
func TestEngineQuotas(t *testing.T) {
	callers := 10_000
	if testing.Short() {
		callers = 1_000
	}
	for _, name := range []string{"PostgreSQL", "MySQL", "ZooKeeper"} {
		t.Run("callers in three processes take exactly the limit on "+name, func(t *testing.T) {
			server := startTarget[name](t)
			quotaAtOnce(t, server.through(server.addr, "timeout=60s"), callers)
		})
	}
	t.Run("units are free again at midnight by the clock of PostgreSQL", func(t *testing.T) {
		t.Parallel() // mostly waits
		d := postgrestest.StartServer(t).Create(t)
		server := migrated(t, d)
		d.SteppedClock("interlock")
		quotaAtMidnight(t, server.through(server.addr, "timeout=30s"), func(by time.Duration) { d.Step(t, by) })
	})
	t.Run("units are free again at midnight by the clock of MySQL", func(t *testing.T) {
		t.Parallel() // mostly waits
		d := mysqltest.StartServer(t).Create(t)
		server := migratedMySQL(t, d)
		d.SteppedClock("interlock_clock")
		quotaAtMidnight(t, server.through(server.addr, "timeout=30s"), func(by time.Duration) { d.Step(t, by) })
	})
	t.Run("units are free again at midnight by the clock of ZooKeeper", func(t *testing.T) {
		t.Parallel() // mostly waits
		server := zookeepertest.StartClocked(t)
		quotaAtMidnight(t, server.URL()+"?timeout=30s", func(by time.Duration) { server.Step(t, by) })
	})
	t.Run("no promotion of a synchronous replica of PostgreSQL grants more units than the limit", func(t *testing.T) {
		t.Parallel() // mostly waits
		primary := postgrestest.StartServer(t)
		server := migrated(t, primary.Create(t))
		replica := primary.StartReplica(t)
		primary.Exec(t, "postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")
		primary.Exec(t, "postgres", "SELECT pg_reload_conf()")
		replicated := func() bool {
			return primary.Exec(t, "postgres", "SELECT sync_state FROM pg_stat_replication") == "sync"
		}
		for end := time.Now().Add(time.Minute); !replicated(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the replica was not synchronous within a minute")
			}
		}
		url := strings.Replace(server.url, primary.Addr(), primary.Addr()+","+replica.Addr(), 1)
		quotaFailover(t, url, func() {
			primary.Kill(t)
			replica.Exec(t, "postgres", "ALTER SYSTEM RESET synchronous_standby_names") // which the copy may have
			replica.Promote(t)
			replica.Exec(t, "postgres", "SELECT pg_reload_conf()")
		})
	})
	t.Run("no death of a leader of ZooKeeper grants more units than the limit", func(t *testing.T) {
		t.Parallel() // mostly waits
		ensemble := zookeepertest.StartEnsemble(t)
		quotaFailover(t, ensemble.URL()+"?session=2s", func() {
			for range 2 {
				leader := ensemble.Leader()
				leader.Kill()
				ensemble.Leader() // another one
				leader.Restart(t)
				ensemble.AwaitAll()
			}
		})
	})
}
