package goredis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

const ann = "a1100000-0000-4000-8000-00000000000a:1"

func request(t testing.TB, attempt string) engine.Request {
	t.Helper()
	return engine.Request{Key: t.Name(), Holder: ann, Attempt: attempt, Lease: 30 * time.Second}
}

func granted(t testing.TB, e engine.Engine, r engine.Request) engine.Grant {
	t.Helper()
	g, err := e.Acquire(context.Background(), r)
	if err != nil {
		t.Fatalf("acquire: %v, want a grant", err)
	}
	return g
}

func renewed(t testing.TB, e engine.Engine, r engine.Request) {
	t.Helper()
	if err := renew(e, r); err != nil {
		t.Errorf("renew: %v", err)
	}
}

func renew(e engine.Engine, r engine.Request) error {
	return e.Renew(context.Background(), []engine.Request{r})[0]
}

func released(t testing.TB, e engine.Engine, r engine.Request) {
	t.Helper()
	if p, err := e.Release(context.Background(), r); err != nil || p.Outcome != engine.Released {
		t.Errorf("release: %+v, %v; want %v", p, err, engine.Released)
	}
}

func awaitWake(t testing.TB, wake <-chan struct{}) {
	t.Helper()
	select {
	case <-wake:
	case <-time.After(30 * time.Second):
		t.Fatal("no wake-up within 30s")
	}
}

// occupy uses the only connection of a pool until free is called.
func occupy(t *testing.T, client *redis.Client) (free func()) {
	t.Helper()
	conn := client.Conn()
	if err := conn.Ping(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	return func() { _ = conn.Close() }
}

func TestPool(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)

	t.Run("a pool without a free connection is overloaded, and renewals get through", func(t *testing.T) {
		t.Parallel()
		e, client := open(t, &redis.Options{Addr: s.Addr(), PoolSize: 1, MaxActiveConns: 1, PoolTimeout: 100 * time.Millisecond})
		r := request(t, "a")
		granted(t, e, r)
		free := occupy(t, client)
		_, err := e.Acquire(context.Background(), request(t, "b"))
		if !errors.Is(err, engine.ErrOverloaded) || errors.Is(err, engine.ErrUnknown) {
			t.Errorf("Acquire: err = %v, want ErrOverloaded and not ErrUnknown", err)
		}
		renewed(t, e, r)
		free()
		released(t, e, r)
	})

	t.Run("the connection for renewals is closed with the engine, and the client's own stay open", func(t *testing.T) {
		t.Parallel()
		client := redis.NewClient(&redis.Options{Addr: s.Addr(), ClientName: "shop"})
		defer client.Close()
		e := goredis.New(client)
		r := request(t, "a")
		granted(t, e, r)
		renewed(t, e, r)
		wake, stop := e.Capabilities().Notifier.Notify(r)
		defer stop()
		awaitWake(t, wake)
		if n := strings.Count(s.Must("CLIENT", "LIST"), "name=shop"); n != 3 {
			t.Errorf("%d connections, want 3", n)
		}
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := client.Ping(context.Background()).Err(); err != nil {
			t.Errorf("the client was closed, too: %v", err)
		}
		for end := time.Now().Add(5 * time.Second); strings.Count(s.Must("CLIENT", "LIST"), "name=shop") != 1; {
			if time.Now().After(end) {
				t.Fatalf("the connections are %s, want only the client's own", s.Must("CLIENT", "LIST"))
			}
		}
		if _, err := e.Acquire(context.Background(), r); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("after Close: %v, want %v", err, engine.ErrClosed)
		}
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()

	t.Run("a call whose reply is lost is sent once, and its outcome is unknown", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		p := faultnet.New(t, s.Addr())
		e, _ := open(t, &redis.Options{Addr: p.Addr()})
		r := request(t, "a")
		granted(t, e, r)
		before := p.Connections()
		p.CutAfterRequest()
		_, err := e.Release(context.Background(), r)
		if !errors.Is(err, engine.ErrUnknown) {
			t.Errorf("Release: err = %v, want %v", err, engine.ErrUnknown)
		}
		if n := p.Connections(); n != before {
			t.Errorf("go-redis opened %d connections for a retry, want none", n-before)
		}
	})

	t.Run("an address without a server is unavailable", func(t *testing.T) {
		t.Parallel()
		e, _ := open(t, &redis.Options{Addr: "127.0.0.1:1"}) // no other test starts a server there
		_, err := e.Acquire(context.Background(), request(t, "a"))
		if !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrUnknown) {
			t.Errorf("acquire: %v, want ErrUnavailable and not ErrUnknown", err)
		}
		err = e.Renew(context.Background(), []engine.Request{request(t, "a")})[0]
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("renew: %v, want %v", err, engine.ErrUnavailable)
		}
	})

	t.Run("a stopped server delays a call for the timeout, or until its context ends", func(t *testing.T) {
		t.Parallel()
		const timeout = 3 * time.Second // far below the client's own
		s := redistest.Start(t)
		e, _ := open(t, &redis.Options{Addr: s.Addr(), ReadTimeout: time.Minute}, redisengine.Timeout(timeout))
		r := request(t, "a")
		granted(t, e, r)
		s.Stop()
		began := time.Now()
		_, err := e.Acquire(context.Background(), r)
		if d := time.Since(began); !errors.Is(err, engine.ErrUnknown) || errors.Is(err, context.DeadlineExceeded) || d > 20*timeout {
			t.Errorf("acquire: %v after %v, want ErrUnknown and no DeadlineExceeded within %v", err, d, 20*timeout)
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		if _, err = e.Acquire(ctx, r); !errors.Is(err, engine.ErrUnknown) || !errors.Is(err, context.Canceled) {
			t.Errorf("acquire: %v, want ErrUnknown and Canceled", err)
		}
		s.Cont()
		if err := e.Renew(context.Background(), []engine.Request{r})[0]; err != nil {
			t.Errorf("renew: %v", err)
		}
	})

	t.Run("Close does not wait for ever for a server that does not answer", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e, _ := open(t, &redis.Options{Addr: s.Addr(), ReadTimeout: -1}, redisengine.Timeout(4*time.Second))
		r := request(t, "a")
		granted(t, e, r)
		s.Stop()
		defer s.Cont()
		if _, err := e.Acquire(context.Background(), r); !errors.Is(err, engine.ErrUnknown) {
			t.Errorf("acquire: %v, want %v", err, engine.ErrUnknown)
		}
		if err := renew(e, r); !errors.Is(err, engine.ErrUnknown) {
			t.Errorf("renew: %v, want %v", err, engine.ErrUnknown)
		}
		_, stop := e.Capabilities().Notifier.Notify(r) // opens a connection for messages
		defer stop()
		time.Sleep(100 * time.Millisecond) // until the connection is open; if that takes longer, the test passes without it
		closed := make(chan error, 1)
		go func() { closed <- e.Close() }()
		select {
		case err := <-closed:
			if err == nil || !strings.Contains(err.Error(), "close the client") {
				t.Errorf("Close: %v, want the advice to close the client", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("Close did not return within 1m")
		}
	})

	t.Run("scripts are sent again to a server that has lost them", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e, _ := open(t, &redis.Options{Addr: s.Addr()})
		r := request(t, "a")
		granted(t, e, r)
		s.Must("SCRIPT", "FLUSH")
		renewed(t, e, r)
		s.Must("SCRIPT", "FLUSH")
		released(t, e, r)
	})

	t.Run("an error reply is reported as such", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e, _ := open(t, &redis.Options{Addr: s.Addr()})
		r := request(t, "a")
		s.Must("SET", r.Key, "v")
		if _, err := e.Acquire(context.Background(), r); !errors.Is(err, engine.ErrKind) {
			t.Errorf("acquire a string: %v, want %v", err, engine.ErrKind)
		}
		s.Must("CONFIG", "SET", "maxmemory", "1")
		r.Key += " 2"
		if _, err := e.Acquire(context.Background(), r); !errors.Is(err, engine.ErrFull) {
			t.Errorf("acquire on a full server: %v, want %v", err, engine.ErrFull)
		}
		s.Must("CONFIG", "SET", "maxmemory", "0")
		s.Must("CONFIG", "SET", "min-replicas-to-write", "1")
		if _, err := e.Acquire(context.Background(), r); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("acquire on a server without replicas: %v, want %v", err, engine.ErrUnavailable)
		}
	})
}

func TestListener(t *testing.T) {
	t.Parallel()

	t.Run("a killed subscriber subscribes again, and wakes all waiters", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e, _ := open(t, &redis.Options{Addr: s.Addr()})
		wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: "k"})
		defer stop()
		awaitWake(t, wake)
		s.Must("CLIENT", "KILL", "TYPE", "pubsub")
		awaitWake(t, wake)
		s.Must("PUBLISH", "redisson_lock__channel:{k}", "0")
		awaitWake(t, wake)
	})

	t.Run("a subscriber closes a connection that has become silent", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		p := faultnet.New(t, s.Addr())
		e, _ := open(t, &redis.Options{Addr: p.Addr(), DialTimeout: time.Second, ReadTimeout: time.Second})
		wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: "k"})
		defer stop()
		awaitWake(t, wake)
		before := p.Connections()
		p.BlackHole(faultnet.Replies, true)
		for end := time.Now().Add(30 * time.Second); p.Connections() == before; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the subscriber opened no other connection within 30s")
			}
		}
		p.BlackHole(faultnet.Replies, false)
		awaitWake(t, wake)
	})

	t.Run("a forbidden channel does not silence the others", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must("ACL", "SETUSER", "shop", "on", ">pw", "~*", "+@all", "resetchannels", "&redisson_lock__channel:*")
		e, _ := open(t, &redis.Options{Addr: s.Addr(), Username: "shop", Password: "pw"})
		wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: "k"})
		defer stop()
		awaitWake(t, wake)
		connection := s.Must("CLIENT", "LIST", "TYPE", "pubsub")
		_, stopWatch := e.Watch("me")
		defer stopWatch()
		eventually(t, "the server refuses the channel", func() bool { return strings.Contains(s.Must("ACL", "LOG"), "interlock_client:me") })
		s.Must("PUBLISH", "redisson_lock__channel:{k}", "0")
		awaitWake(t, wake)
		if id, _, _ := strings.Cut(connection, " "); !strings.HasPrefix(s.Must("CLIENT", "LIST", "TYPE", "pubsub"), id+" ") {
			t.Error("the connection was closed")
		}
		// A new connection subscribes to all channels with one command.
		s.Must("CLIENT", "KILL", "TYPE", "pubsub")
		awaitWake(t, wake)
		s.Must("PUBLISH", "redisson_lock__channel:{k}", "0")
		awaitWake(t, wake)
	})

	t.Run("sharded channels work as well", func(t *testing.T) {
		t.Parallel()
		redistest.Needs7(t)
		s := redistest.Start(t)
		e, _ := open(t, &redis.Options{Addr: s.Addr()}, redisengine.Publish(redisengine.Sharded))
		wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: t.Name()})
		defer stop()
		awaitWake(t, wake)
		r := request(t, "a")
		granted(t, e, r)
		released(t, e, r)
		awaitWake(t, wake)
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for what, client := range map[string]redis.UniversalClient{
		"a ring":                         redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": "127.0.0.1:1"}}),
		"a cluster made up of sentinels": redis.NewFailoverClusterClient(&redis.FailoverOptions{MasterName: "main", SentinelAddrs: []string{"127.0.0.1:1"}}),
	} {
		t.Run(what, func(t *testing.T) {
			defer client.Close()
			defer func() {
				if recover() == nil {
					t.Error("New accepts the client, want a panic")
				}
			}()
			goredis.New(client)
		})
	}
}
