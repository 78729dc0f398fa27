package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Rows in which a guard's server is stopped, restarted, or in a state.
var guardServerRows = []row{
	{9, "server stopped (SIGSTOP) and resumed", "down, nothing run, nothing left; the running one unknown", func(t *testing.T) {
		p := newPost(t, strict(2*time.Second))
		ctx, claim := p.begin(p.guard)
		p.server.Stop()
		_, err := p.guard.Do(t.Context(), guard.Of("ada", "late"), p.work)
		p.wantErr(err, guard.ErrDown)
		p.wantLost(ctx, 2*time.Second, interlock.ErrExpired)
		p.server.Cont()
		p.wantErr(claim.Complete("too late"), interlock.ErrLost)
		p.cleanedUp()
		if s := p.look(p.other, guard.Of("ada", "late")); s.State != engine.Absent {
			t.Errorf("the claim that came late left it %v", s.State)
		}
		p.wantUnknown(5 * time.Second)
		p.wantRuns(1)
	}},
	{10, "server restarted, data kept (AOF)", "held; stored; replayed after the next restart", func(t *testing.T) {
		p := newPost(t, strict(6*time.Second), "--appendonly", "yes", "--appendfsync", "always")
		ctx, claim := p.begin(p.guard)
		p.server.Kill()
		p.server.Restart()
		p.wantHeld(ctx, 7*time.Second)
		p.complete(claim)
		p.server.Kill()
		p.server.Restart()
		p.wantReplay(order, "result 1")
	}},
	{10, "script cache flushed", "scripts are sent again", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second))
		p.know(p.guard)
		p.server.Must("SCRIPT", "FLUSH")
		_, claim := p.begin(p.guard)
		p.server.Must("SCRIPT", "FLUSH")
		p.complete(claim)
		p.server.Must("SCRIPT", "FLUSH")
		p.wantReplay(order, "result 1")
	}},
	{11, "server restarted empty", "lost: not the holder; what was done is forgotten", func(t *testing.T) {
		p := newPost(t, strict(6*time.Second))
		p.know(p.guard)
		ctx, claim := p.begin(p.guard)
		p.server.Kill()
		p.server.Restart()
		p.wantLost(ctx, 6*time.Second, interlock.ErrNotHolder)
		p.wantErr(claim.Complete("too late"), interlock.ErrLost)
		p.wantState(engine.Absent) // never brought back
		p.do(p.other, guard.Of("ada", "first"))
		p.wantRuns(2) // docs/redis.md says so
	}},
	{12, "server loading its data (LOADING)", "asked again until it serves; run once", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second), "--key-load-delay", "10000", "--appendonly", "yes", "--aof-use-rdb-preamble", "yes")
		p.know(p.guard)
		for i := range 100 { // a second's worth
			p.server.Must("SET", fmt.Sprint("filler:", i), "x")
		}
		p.server.Must("CONFIG", "SET", "key-load-delay", "0")
		p.server.Must("BGREWRITEAOF")
		p.soon(10*time.Second, "the data is on disk", func() bool {
			return strings.Contains(p.server.Must("INFO", "persistence"), "aof_rewrite_in_progress:0")
		})
		p.server.Kill()
		restarted := make(chan struct{})
		go func() {
			defer close(restarted)
			p.server.Restart()
		}()
		p.soon(10*time.Second, "the server loads", func() bool {
			_, err := p.server.Do("GET", "x")
			return err != nil && strings.Contains(err.Error(), "LOADING")
		})
		result := p.do(p.guard, order)
		<-restarted
		p.wantReplay(order, result)
	}},
	{12, "server busy with a script (BUSY)", "asked again until it serves; run once", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second), "--busy-reply-threshold", "10")
		p.know(p.guard)
		go func() { _, _ = p.server.Do("EVAL", "while true do end", "0") }()
		p.soon(5*time.Second, "the server is busy", p.busy)
		time.AfterFunc(time.Second, func() { p.server.Must("SCRIPT", "KILL") })
		p.wantReplay(order, p.do(p.guard, order))
	}},
	{12, "server busy for longer than the budget", "down within seconds, nothing run", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second), "--busy-reply-threshold", "10")
		p.know(p.guard)
		go func() { _, _ = p.server.Do("EVAL", "while true do end", "0") }()
		p.soon(5*time.Second, "the server is busy", p.busy)
		start := time.Now()
		p.wantRefused(guard.ErrDown)
		if d := time.Since(start); d > 8*time.Second {
			t.Errorf("took %v", d)
		}
		p.server.Must("SCRIPT", "KILL")
		p.do(p.guard, order)
	}},
	{14, "server is a replica (READONLY)", "down, nothing run; run when it is the primary", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second))
		p.know(p.guard)
		p.server.Must("REPLICAOF", "127.0.0.1", "1")
		p.wantRefused(guard.ErrDown)
		time.AfterFunc(time.Second, func() { p.server.Must("REPLICAOF", "NO", "ONE") })
		p.wantReplay(order, p.do(p.guard, order))
	}},
	{14, "too few replicas (NOREPLICAS)", "down, which is no duplicate; nothing run", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second))
		p.know(p.guard)
		p.server.Must("CONFIG", "SET", "min-replicas-to-write", "1")
		p.wantRefused(guard.ErrDown)
	}},
	{23, "pool exhausted (go-redis)", "down: overloaded; the running one is renewed", guardExhausted},
	{43, "disk full, writes refused (MISCONF)", "down, nothing run; the result is stored when it can be", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second), "--save", "3600 1000")
		_, claim := p.begin(p.guard)
		// A directory in the file's place: whatever is saved cannot get its name.
		place := filepath.Join(p.server.Dir(), "dump.rdb")
		if err := os.Mkdir(place, 0o700); err != nil {
			t.Fatal(err)
		}
		p.server.Must("BGSAVE")
		p.soon(10*time.Second, "writes are refused", func() bool {
			_, err := p.server.Do("SET", "x", "y")
			return err != nil && strings.Contains(err.Error(), "MISCONF")
		})
		_, err := p.guard.Do(t.Context(), guard.Of("ada", "full"), p.work)
		p.wantErr(err, guard.ErrDown)
		p.wantRuns(1)
		p.wantErr(claim.Complete("result 1"), guard.ErrNotStored)
		if err := os.Remove(place); err != nil {
			t.Fatal(err)
		}
		p.server.Must("BGSAVE")
		p.soon(20*time.Second, "the result is stored late", func() bool { return p.guard.Stats().Endings[guard.StoredLate] == 1 })
		p.wantReplay(order, "result 1")
	}},
}

// guardExhausted takes every connection of a go-redis pool but the reserved one.
func guardExhausted(t *testing.T) {
	server := redistest.Start(t)
	pool := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 3, PoolTimeout: 300 * time.Millisecond, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = pool.Close() })
	e := goredis.New(pool)
	t.Cleanup(func() { _ = e.Close() })
	p := &post{place: &place{t: t, server: server}}
	p.guard = newGuard(t, p.use(e), strict(3*time.Second))
	ctx, claim := p.begin(p.guard)
	p.wantHeld(ctx, 1500*time.Millisecond) // renewed once, so that its connection is there
	done := make(chan struct{}, 3)
	for range 3 {
		go func() { // ends with what is pushed below
			pool.BLPop(context.Background(), time.Minute, "nothing")
			done <- struct{}{}
		}()
	}
	p.soon(10*time.Second, "all of the pool waits at the server", func() bool {
		return strings.Contains(server.Must("INFO", "clients"), "blocked_clients:3\r")
	})
	_, err := p.guard.Do(t.Context(), guard.Of("ada", "crowded"), p.work)
	p.wantErr(err, guard.ErrDown)
	p.wantErr(err, engine.ErrOverloaded)
	p.wantRuns(1)
	p.wantHeld(ctx, 5*time.Second)
	server.Must("RPUSH", "nothing", "1", "2", "3")
	for range 3 {
		<-done
	}
	p.soon(10*time.Second, "the pool serves again", func() bool {
		_, err := p.guard.Do(t.Context(), guard.Of("ada", "crowded"), p.work)
		return !errors.Is(err, guard.ErrDown)
	})
	p.runs.Store(1)
	p.complete(claim)
}
