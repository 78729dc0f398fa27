package redisengine_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/redistest"
)

// T1, T7, S8: whatever is true of one server is true of a cluster.
func TestLawsOnACluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	enginetest.Run(t, enginetest.Harness{
		Name:  "Redis Cluster " + redistest.Version(t) + " (rueidis)",
		Lease: lease,
		Open: func(t testing.TB) engine.Engine {
			return openURL(t, c.URL(), redisengine.Timeout(timeout), redisengine.Prefix(prefix(t)), redisengine.Records(prefix(t)))
		},
	})
}

// T7: the same behind sentinels.
func TestLawsBehindSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	enginetest.Run(t, enginetest.Harness{
		Name:  "Redis Sentinel " + redistest.Version(t) + " (rueidis)",
		Lease: lease,
		Open: func(t testing.TB) engine.Engine {
			return openURL(t, s.URL(), redisengine.Timeout(timeout), redisengine.Prefix(prefix(t)), redisengine.Records(prefix(t)))
		},
	})
}

// prefix keeps what a law does from the others, which list what is there.
func prefix(t testing.TB) string { return key(t) + ":" + time.Now().Format("150405.000000000") + ":" }
