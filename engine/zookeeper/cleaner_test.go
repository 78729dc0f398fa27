package zookeeper_test

import (
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// observe returns the calls of an engine to its server from now on.
func observe(t testing.TB, e *zookeeper.Engine) func() []engine.ServerCall {
	t.Helper()
	var (
		mu    sync.Mutex
		calls []engine.ServerCall
	)
	t.Cleanup(e.Capabilities().Observe(func(c engine.ServerCall) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, c)
	}))
	return func() []engine.ServerCall {
		mu.Lock()
		defer mu.Unlock()
		return append([]engine.ServerCall(nil), calls...)
	}
}

// handOver lets ann release a fair lock to bob, who waits for it on another engine. So the
// first engine has a document in its cache that is not empty.
func handOver(t testing.TB, first, second *zookeeper.Engine) (next engine.Request) {
	t.Helper()
	r := request(t, ann, "a")
	next = request(t, bob, "b")
	r.Kind, next.Kind, next.QueueLease = engine.Fair, engine.Fair, 10*time.Minute
	granted(t, first, r)
	busy(t, second, next)
	released(t, first, r, engine.Released)
	granted(t, second, next)
	return next
}

func TestTheCleanerForgetsDocumentsThatOtherEnginesHaveRemovedOrChanged(t *testing.T) {
	t.Parallel()
	s := zookeepertest.StartClocked(t)
	for _, c := range []struct {
		name string
		then func(t *testing.T, first, second *zookeeper.Engine, next engine.Request)
	}{
		{"removed", func(t *testing.T, _, second *zookeeper.Engine, next engine.Request) {
			released(t, second, next, engine.Released)
		}},
		{"removed long ago, so the cached document looks empty", func(t *testing.T, first, second *zookeeper.Engine, next engine.Request) {
			released(t, second, next, engine.Released)
			s.Step(t, time.Hour)
			inspect(t, first, "another"+next.Key) // reads the clock
		}},
		{"changed", func(*testing.T, *zookeeper.Engine, *zookeeper.Engine, engine.Request) {}},
		{"changed long ago", func(t *testing.T, first, second *zookeeper.Engine, next engine.Request) {
			s.Step(t, time.Hour)
			granted(t, second, next)
			inspect(t, first, "another"+next.Key)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second := open(t, s.URL()), open(t, s.URL())
			c.then(t, first, second, handOver(t, first, second))
			calls := observe(t, first)
			first.Tidy()
			looked := len(calls())
			if looked == 0 {
				t.Error("the cleaner did not look at the document")
			}
			first.Tidy()
			if again := calls()[looked:]; len(again) > 0 {
				t.Errorf("the cleaner looked at the document again: %+v", again)
			}
		})
	}
}
