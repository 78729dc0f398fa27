package zookeeper_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// lease is the lease of the locks in the laws.
const lease = 1500 * time.Millisecond

// TestLaws proves R3 on a coordination service.
func TestLaws(t *testing.T) {
	t.Parallel()
	s := server(t)
	clockedServer := zookeepertest.StartClocked(t)
	clockedEngine := open(t, clockedServer.URL())
	enginetest.Run(t, enginetest.Harness{
		Name:  "ZooKeeper " + zookeepertest.Version(t, s),
		Lease: lease,
		Open:  func(t testing.TB) engine.Engine { return open(t, s.URL()) },
		Clocked: func(t testing.TB) engine.Engine {
			return clocked{clockedEngine, clockedServer, t}
		},
	})
}

// clocked is an engine whose server's clock can be set.
type clocked struct {
	*zookeeper.Engine
	server *zookeepertest.Server
	t      testing.TB
}

func (c clocked) Step(d time.Duration) { c.server.Step(c.t, d) }
