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

// Rows in which a guard's server is stopped, restarted or refuses commands.
var guardServerRows = []row{
	{9, "server stopped (SIGSTOP) and resumed", "down; the work does not run; running work becomes unknown", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(2*time.Second))
		ctx, claim := p.begin(p.guard)
		p.server.Stop()
		_, err := p.guard.Do(t.Context(), guard.Of("ada", "late"), p.work)
		p.wantErr(err, guard.ErrDown)
		p.wantLost(ctx, 2*time.Second, interlock.ErrExpired)
		p.server.Cont()
		p.wantErr(claim.Complete("too late"), interlock.ErrLost)
		p.waitForCleanUp()
		if s := p.lookup(p.other, guard.Of("ada", "late")); s.State != engine.Absent {
			t.Errorf("the late claim left the state %v, want Absent", s.State)
		}
		p.wantUnknown(5 * time.Second)
		p.wantRuns(1)
	}},
	{10, "server restarted, data kept (AOF)", "held; stored; replayed after the next restart", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(6*time.Second), "--appendonly", "yes", "--appendfsync", "always")
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
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		p.warmUp(p.guard)
		p.server.Must("SCRIPT", "FLUSH")
		_, claim := p.begin(p.guard)
		p.server.Must("SCRIPT", "FLUSH")
		p.complete(claim)
		p.server.Must("SCRIPT", "FLUSH")
		p.wantReplay(order, "result 1")
	}},
	{11, "server restarted empty", "lost: not the holder; stored results are lost", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(6*time.Second))
		p.warmUp(p.guard)
		ctx, claim := p.begin(p.guard)
		p.server.Kill()
		p.server.Restart()
		p.wantLost(ctx, 6*time.Second, interlock.ErrNotHolder)
		p.wantErr(claim.Complete("too late"), interlock.ErrLost)
		p.wantState(engine.Absent) // the record is not recreated
		p.do(p.other, guard.Of("ada", "first"))
		p.wantRuns(2) // a documented limit, see docs/redis.md
	}},
	{12, "server loading its data (LOADING)", "retried until the server answers; runs once", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second), "--key-load-delay", "10000", "--appendonly", "yes", "--aof-use-rdb-preamble", "yes")
		p.warmUp(p.guard)
		for i := range 100 { // loading them takes a second
			p.server.Must("SET", fmt.Sprint("filler:", i), "x")
		}
		p.server.Must("CONFIG", "SET", "key-load-delay", "0")
		p.server.Must("BGREWRITEAOF")
		p.eventually(10*time.Second, "the data is on disk", func() bool {
			return strings.Contains(p.server.Must("INFO", "persistence"), "aof_rewrite_in_progress:0")
		})
		p.server.Kill()
		restarted := make(chan struct{})
		go func() {
			defer close(restarted)
			p.server.Restart()
		}()
		p.eventually(10*time.Second, "the server loads", func() bool {
			_, err := p.server.Do("GET", "x")
			return err != nil && strings.Contains(err.Error(), "LOADING")
		})
		result := p.do(p.guard, order)
		<-restarted
		p.wantReplay(order, result)
	}},
	{12, "server busy with a script (BUSY)", "retried until the server answers; runs once", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second), "--busy-reply-threshold", "10")
		p.warmUp(p.guard)
		go func() { _, _ = p.server.Do("EVAL", "while true do end", "0") }()
		p.eventually(5*time.Second, "the server is busy", p.serverBusy)
		time.AfterFunc(time.Second, func() { p.server.Must("SCRIPT", "KILL") })
		p.wantReplay(order, p.do(p.guard, order))
	}},
	{12, "server busy for longer than the budget", "down within seconds; the work does not run", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second), "--busy-reply-threshold", "10")
		p.warmUp(p.guard)
		go func() { _, _ = p.server.Do("EVAL", "while true do end", "0") }()
		p.eventually(5*time.Second, "the server is busy", p.serverBusy)
		start := time.Now()
		p.wantRefused(guard.ErrDown)
		if d := time.Since(start); d > 8*time.Second {
			t.Errorf("took %v", d)
		}
		p.server.Must("SCRIPT", "KILL")
		p.do(p.guard, order)
	}},
	{14, "server is a replica (READONLY)", "down; the work does not run until the server is the primary", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		p.warmUp(p.guard)
		p.server.Must("REPLICAOF", "127.0.0.1", "1")
		p.wantRefused(guard.ErrDown)
		time.AfterFunc(time.Second, func() { p.server.Must("REPLICAOF", "NO", "ONE") })
		p.wantReplay(order, p.do(p.guard, order))
	}},
	{14, "too few replicas (NOREPLICAS)", "down, not a duplicate; the work does not run", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		p.warmUp(p.guard)
		p.server.Must("CONFIG", "SET", "min-replicas-to-write", "1")
		p.wantRefused(guard.ErrDown)
	}},
	{23, "pool exhausted (go-redis)", "down: overloaded; running work is renewed", guardExhaustedPool},
	{43, "disk full, writes refused (MISCONF)", "down; new work does not run; a result is stored when writes work again", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second), "--save", "3600 1000")
		_, claim := p.begin(p.guard)
		// A directory with the name of the file makes every save fail.
		dump := filepath.Join(p.server.Dir(), "dump.rdb")
		if err := os.Mkdir(dump, 0o700); err != nil {
			t.Fatal(err)
		}
		p.server.Must("BGSAVE")
		p.eventually(10*time.Second, "writes are refused", func() bool {
			_, err := p.server.Do("SET", "x", "y")
			return err != nil && strings.Contains(err.Error(), "MISCONF")
		})
		_, err := p.guard.Do(t.Context(), guard.Of("ada", "full"), p.work)
		p.wantErr(err, guard.ErrDown)
		p.wantRuns(1)
		p.wantErr(claim.Complete("result 1"), guard.ErrNotStored)
		if err := os.Remove(dump); err != nil {
			t.Fatal(err)
		}
		p.server.Must("BGSAVE")
		p.eventually(20*time.Second, "the result is stored late", func() bool { return p.guard.Stats().Endings[guard.StoredLate] == 1 })
		p.wantReplay(order, "result 1")
	}},
}

// guardExhaustedPool blocks every connection of a go-redis pool but the reserved one.
func guardExhaustedPool(t *testing.T) {
	server := redistest.Start(t)
	pool := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 3, PoolTimeout: 300 * time.Millisecond, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = pool.Close() })
	e := goredis.New(pool)
	t.Cleanup(func() { _ = e.Close() })
	p := &guardFixture{fixture: &fixture{t: t, server: server}}
	p.guard = newGuard(t, p.newClient(e), strictPolicy(3*time.Second))
	ctx, claim := p.begin(p.guard)
	p.wantHeld(ctx, 1500*time.Millisecond) // renewed once, so that its connection is open
	done := make(chan struct{}, 3)
	for range 3 {
		go func() { // ends with the RPUSH below
			pool.BLPop(context.Background(), time.Minute, "nothing")
			done <- struct{}{}
		}()
	}
	p.eventually(10*time.Second, "all pool connections are blocked", func() bool {
		return strings.Contains(server.Must("INFO", "clients"), "blocked_clients:3\r")
	})
	_, err := p.guard.Do(t.Context(), guard.Of("ada", "overloaded"), p.work)
	p.wantErr(err, guard.ErrDown)
	p.wantErr(err, engine.ErrOverloaded)
	p.wantRuns(1)
	p.wantHeld(ctx, 5*time.Second)
	server.Must("RPUSH", "nothing", "1", "2", "3")
	for range 3 {
		<-done
	}
	p.eventually(10*time.Second, "the pool serves again", func() bool {
		_, err := p.guard.Do(t.Context(), guard.Of("ada", "overloaded"), p.work)
		return !errors.Is(err, guard.ErrDown)
	})
	p.runs.Store(1)
	p.complete(claim)
}
