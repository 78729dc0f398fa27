package zookeeper_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

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

// nodes returns how many nodes the buckets of a directory have.
func nodes(t testing.TB, conn *zk.Conn, dir string) (n int) {
	t.Helper()
	buckets, _, err := conn.Children(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range buckets {
		names, _, err := conn.Children(dir + "/" + b)
		if err != nil {
			t.Fatal(err)
		}
		n += len(names)
	}
	return n
}

// claims claims many keys at once.
func claims(t testing.TB, e *zookeeper.Engine, n int, retain time.Duration) {
	t.Helper()
	var all sync.WaitGroup
	next := make(chan int)
	for range 20 {
		all.Go(func() {
			for i := range next {
				c := engine.Claim{Key: key(t) + strconv.Itoa(i), Attempt: "a", Lease: time.Second, Retain: retain}
				if _, err := e.Capabilities().Ledger.Claim(t.Context(), c); err != nil {
					t.Errorf("claim: %v", err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// count returns how many calls have an operation.
func count(calls []engine.ServerCall, operation string) (n int) {
	for _, c := range calls {
		if c.Operation == operation {
			n++
		}
	}
	return n
}

// An engine that removed one document after the other would fall behind its claims. The test
// is not parallel: its load would delay tests with short timeouts.
func TestExpiredDocumentsAreRemovedSeveralAtOnce(t *testing.T) {
	const documents = 2000
	e, conn := open(t, server(t).URL(), zookeeper.Root("/"+key(t))), connect(t, server(t).Addr())
	var (
		mu             sync.Mutex
		total, overlap int
		busyUntil      time.Time
	)
	defer e.Capabilities().Observe(func(c engine.ServerCall) {
		mu.Lock()
		defer mu.Unlock()
		if total++; c.Operation == "claim" {
			total = 0
			return
		}
		now := time.Now()
		if c.Operation == "tidy" && now.Add(-c.Took).Before(busyUntil) {
			overlap++
		}
		busyUntil = now
	})()
	claims(t, e, documents, time.Second)
	eventually(t, "all nodes are removed", func() bool { return nodes(t, conn, "/"+key(t)+"/records") == 0 })
	mu.Lock()
	defer mu.Unlock()
	if limit := documents + documents/10; total > limit {
		t.Errorf("removing %d documents took %d requests, want at most %d", documents, total, limit)
	}
	if overlap < documents/2 {
		t.Errorf("%d of %d documents were removed while another request was on its way, want most", overlap, documents)
	}
}

func TestASweepOfRecordsThatStayOnlyReadsThem(t *testing.T) {
	const documents = 1000 // not parallel, because of the load
	ended := open(t, server(t).URL(), zookeeper.Root("/"+key(t)))
	claims(t, ended, documents, time.Hour)
	if err := ended.Close(); err != nil {
		t.Fatal(err)
	}
	e := open(t, server(t).URL(), zookeeper.Root("/"+key(t)))
	calls := observe(t, e)
	e.Sweep()
	all := calls()
	if reads := count(all, "read"); reads != documents {
		t.Errorf("the sweep read %d documents, want %d", reads, documents)
	}
	if clocks := count(all, "clock"); clocks > 64 {
		t.Errorf("the sweep wrote the clock %d times, want at most once for each of 64 buckets", clocks)
	}
	if tidied := count(all, "tidy"); tidied > 0 {
		t.Errorf("the sweep tried to remove %d documents, and all stay", tidied)
	}
}
