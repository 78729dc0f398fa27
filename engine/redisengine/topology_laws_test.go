package redisengine_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Requirements T1, T7, S8: the laws hold on a cluster.
func TestLawsOnACluster(t *testing.T) {
	t.Parallel()
	// No server fails here, but a busy machine may stop one for seconds.
	c := redistest.StartCluster(t, "--cluster-node-timeout", "600000")
	clocked := redistest.StartCluster(t, redistest.SteppedClock, "--cluster-node-timeout", "86400000")
	lawsOn(t, "Redis Cluster", c.URL(), clocked.URL(), clocked.Servers[0].NeedsClock, clocked.Step)
}

// Requirement T7: the laws hold behind sentinels.
func TestLawsBehindSentinels(t *testing.T) {
	t.Parallel()
	s, clocked := redistest.StartSentinel(t).Patient(), redistest.StartSentinel(t, redistest.SteppedClock)
	lawsOn(t, "Redis Sentinel", s.URL(), clocked.URL(), clocked.Servers[0].NeedsClock, clocked.Step)
}

// lawsOn runs the laws on shared servers, except those about the clock.
func lawsOn(t *testing.T, name, url, clocked string, needsClock func(testing.TB), step func(time.Duration)) {
	openApart := func(t testing.TB, url string) *redisengine.Engine {
		return openURL(t, url, redisengine.Timeout(timeout(t)), redisengine.Prefix(prefix(t)), redisengine.Records(prefix(t)))
	}
	enginetest.Run(t, enginetest.Harness{
		Name:  name + " " + redistest.Version(t) + " (rueidis)",
		Lease: lease,
		Open:  func(t testing.TB) engine.Engine { return openApart(t, url) },
		Clocked: func(t testing.TB) engine.Engine {
			needsClock(t)
			return steppable{openApart(t, clocked), step}
		},
	})
}

// steppable is an engine whose servers' clocks can be set.
type steppable struct {
	*redisengine.Engine
	step func(time.Duration)
}

func (s steppable) Step(d time.Duration) { s.step(d) }

// prefix returns a prefix for the keys of one law, because some laws list all locks.
func prefix(t testing.TB) string { return key(t) + ":" + time.Now().Format("150405.000000000") + ":" }
