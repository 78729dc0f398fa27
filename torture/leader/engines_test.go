package leader_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/mysql"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
	"github.com/interlock-go/interlock/internal/testing/redistest"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// TestEveryEngine elects leaders on each engine. Two clients with engines of their own stand
// for two processes.
func TestEveryEngine(t *testing.T) {
	for name, start := range map[string]func(*testing.T) (open func() engine.Engine){
		"memory": func(*testing.T) func() engine.Engine {
			e := memory.New()
			return func() engine.Engine { return e }
		},
		"Redis": func(t *testing.T) func() engine.Engine {
			s := redistest.Start(t)
			return opener(t, func(ctx context.Context) (closer, error) { return redisengine.Open(ctx, s.URL()) })
		},
		"go-redis": func(t *testing.T) func() engine.Engine {
			s := redistest.Start(t)
			return opener(t, func(context.Context) (closer, error) {
				c := redis.NewClient(&redis.Options{Addr: s.Addr()})
				t.Cleanup(func() { _ = c.Close() })
				return goredis.New(c), nil
			})
		},
		"PostgreSQL": func(t *testing.T) func() engine.Engine {
			child.SkipIfShort(t, "starts PostgreSQL")
			s, stop, err := postgrestest.Shared()
			require(t, err, postgrestest.ErrMissing)
			t.Cleanup(stop)
			url := s.Create(t).URL()
			_, err = postgres.Migrate(t.Context(), url)
			require(t, err, nil)
			return opener(t, func(ctx context.Context) (closer, error) { return postgres.Open(ctx, url) })
		},
		"MySQL": func(t *testing.T) func() engine.Engine {
			child.SkipIfShort(t, "starts MariaDB")
			s, stop, err := mysqltest.Shared()
			require(t, err, mysqltest.ErrMissing)
			t.Cleanup(stop)
			url := s.Create(t).URL()
			_, err = mysql.Migrate(t.Context(), url)
			require(t, err, nil)
			return opener(t, func(ctx context.Context) (closer, error) { return mysql.Open(ctx, url) })
		},
		"etcd": func(t *testing.T) func() engine.Engine {
			child.SkipIfShort(t, "starts etcd")
			m, stop, err := etcdtest.Shared()
			require(t, err, etcdtest.ErrMissing)
			t.Cleanup(stop)
			return opener(t, func(ctx context.Context) (closer, error) { return etcd.Open(ctx, m.URL()) })
		},
		"ZooKeeper": func(t *testing.T) func() engine.Engine {
			child.SkipIfShort(t, "starts ZooKeeper")
			s, stop, err := zookeepertest.Shared()
			require(t, err, zookeepertest.ErrMissing)
			t.Cleanup(stop)
			return opener(t, func(ctx context.Context) (closer, error) { return zookeeper.Open(ctx, s.URL()) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := start(t)
			elect(t, open(), open(), open())
		})
	}
}

// A closer is an engine that is closed after use.
type closer interface {
	engine.Engine
	Close() error
}

// opener returns a function that opens an engine until the test ends.
func opener(t *testing.T, open func(context.Context) (closer, error)) func() engine.Engine {
	return func() engine.Engine {
		t.Helper()
		e, err := open(t.Context())
		require(t, err, nil)
		t.Cleanup(func() { _ = e.Close() })
		return e
	}
}

// require fails the test on an error, and skips it if the error says that a server is not
// installed.
func require(t *testing.T, err, missing error) {
	t.Helper()
	switch {
	case err == nil:
	case missing != nil && errors.Is(err, missing):
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// term is the lease of an elected leader that is not renewed.
const term = 3 * time.Second

// elect elects four leaders in turn on two engines, while a client on a third observes.
func elect(t *testing.T, one, two, three engine.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	clients := []*interlock.Client{interlock.New(one), interlock.New(two)}
	defer func() {
		for _, c := range clients {
			if err := c.Close(ctx); err != nil {
				t.Error(err)
			}
		}
	}()
	observed := observe(ctx, t, interlock.New(three).Leader("job:1"))
	if s := <-observed; s.Fence != 0 {
		t.Errorf("before the first election: %+v, want no leader", s)
	}
	type elected struct {
		ctx  context.Context
		hold *interlock.Hold
	}
	campaign := func(n int, opts ...interlock.Option) <-chan elected {
		won := make(chan elected, 1)
		l := clients[n].Leader("job:1", append(opts, interlock.Announce([]string{"host-a:80", "host-b:80"}[n]))...)
		go func() {
			ctx, hold, err := l.Campaign(ctx)
			if err != nil {
				t.Errorf("Campaign: %v", err)
				cancel()
				close(won)
				return
			}
			won <- elected{ctx, hold}
		}()
		return won
	}
	var last interlock.Leadership
	check := func(e elected, value string) {
		t.Helper()
		if e.hold == nil {
			t.FailNow()
		}
		s := last
		for s.Fence != e.hold.Fence() {
			next, ok := <-observed
			if !ok {
				t.Fatalf("the leader with fence %d was not observed in time", e.hold.Fence())
			}
			s = next
		}
		if s.Value != value || s.Holder != e.hold.Holder() || s.Fence <= last.Fence || s.Term != last.Term+1 || s.Gap || s.Self {
			t.Errorf("observed %+v after %+v; want the next term, with value %s", s, last, value)
		}
		last = s
	}

	first := <-campaign(0)
	check(first, "host-a:80")
	next := campaign(1)
	if err := first.hold.Unlock(); err != nil { // resigns
		t.Error(err)
	}
	second := <-next
	check(second, "host-b:80")

	next = campaign(0, interlock.Lease(term))
	if _, err := clients[0].ForceRelease(ctx, "job:1"); err != nil { // an operator intervenes
		t.Error(err)
	}
	third := <-next
	check(third, "host-a:80")
	<-second.ctx.Done()
	if err := context.Cause(second.ctx); !errors.Is(err, interlock.ErrRevoked) {
		t.Errorf("the second leader lost with %v, want ErrRevoked", err)
	}

	fourth := <-campaign(1) // the third expires, because it is not renewed
	if third.ctx.Err() == nil {
		t.Error("two leaders at once: the third context has not ended")
	}
	check(fourth, "host-b:80")
	if err := third.hold.Unlock(); !errors.Is(err, interlock.ErrExpired) {
		t.Errorf("Unlock of the third = %v, want ErrExpired", err)
	}
	if err := fourth.hold.Unlock(); err != nil {
		t.Error(err)
	}
}

// observe returns what Observe yields until ctx ends.
func observe(ctx context.Context, t *testing.T, l *interlock.Leader) <-chan interlock.Leadership {
	seen := make(chan interlock.Leadership, 1000)
	go func() {
		defer close(seen)
		for s, err := range l.Observe(ctx) {
			if err != nil {
				t.Logf("Observe: %v", err) // the machine may be too slow for a server to answer
				continue
			}
			seen <- s
		}
	}()
	return seen
}
