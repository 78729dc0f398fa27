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

// Rows in which a guard's server is stopped or restarted, or refuses commands.
var guardServerRows = []row{
	{9, "server stopped (SIGSTOP) and resumed", "new callers get ErrDown, and their work does not run; the outcome of running work becomes unknown", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(2*time.Second))
		ctx, claim := f.begin(f.guard)
		f.server.Stop()
		_, err := f.guard.Do(t.Context(), guard.Of("ada", "late"), f.work)
		f.wantErr(err, guard.ErrDown)
		f.wantLost(ctx, 2*time.Second, interlock.ErrExpired)
		f.server.Cont()
		f.wantErr(claim.Complete("too late"), interlock.ErrLost)
		f.waitForCleanUp()
		if s := f.lookup(f.other, guard.Of("ada", "late")); s.State != engine.Absent {
			t.Errorf("the late claim left the state %v, want Absent", s.State)
		}
		f.wantUnknown(5 * time.Second)
		f.wantRuns(1)
	}},
	{10, "server restarted, data kept (AOF)", "the claim stays held; its result is stored, and replayed after the next restart", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(6*time.Second), "--appendonly", "yes", "--appendfsync", "always")
		ctx, claim := f.begin(f.guard)
		f.server.Kill()
		f.server.Restart()
		f.wantHeld(ctx, 7*time.Second)
		f.complete(claim)
		f.server.Kill()
		f.server.Restart()
		f.wantReplay(order, "result 1")
	}},
	{10, "script cache flushed", "the scripts are sent again", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		f.warmUp(f.guard)
		f.server.Must("SCRIPT", "FLUSH")
		_, claim := f.begin(f.guard)
		f.server.Must("SCRIPT", "FLUSH")
		f.complete(claim)
		f.server.Must("SCRIPT", "FLUSH")
		f.wantReplay(order, "result 1")
	}},
	{11, "server restarted empty", "the claim is lost with ErrNotHolder; stored results are lost", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(6*time.Second))
		f.warmUp(f.guard)
		ctx, claim := f.begin(f.guard)
		f.server.Kill()
		f.server.Restart()
		f.wantLost(ctx, 6*time.Second, interlock.ErrNotHolder)
		f.wantErr(claim.Complete("too late"), interlock.ErrLost)
		f.wantState(engine.Absent) // the record is not recreated
		f.do(f.other, guard.Of("ada", "first"))
		f.wantRuns(2) // a documented limit, see docs/redis.md
	}},
	{12, "server loading its data (LOADING)", "the claim is retried until the server answers; the work runs once", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second), "--key-load-delay", "10000", "--appendonly", "yes", "--aof-use-rdb-preamble", "yes")
		f.warmUp(f.guard)
		for i := range 100 { // loading them takes a second
			f.server.Must("SET", fmt.Sprint("filler:", i), "x")
		}
		f.server.Must("CONFIG", "SET", "key-load-delay", "0")
		f.server.Must("BGREWRITEAOF")
		f.eventually(10*time.Second, "the data is on disk", func() bool {
			return strings.Contains(f.server.Must("INFO", "persistence"), "aof_rewrite_in_progress:0")
		})
		f.server.Kill()
		restarted := make(chan struct{})
		go func() {
			defer close(restarted)
			f.server.Restart()
		}()
		f.eventually(10*time.Second, "the server loads", func() bool {
			_, err := f.server.Do("GET", "x")
			return err != nil && strings.Contains(err.Error(), "LOADING")
		})
		result := f.do(f.guard, order)
		<-restarted
		f.wantReplay(order, result)
	}},
	{12, "server busy with a script (BUSY)", "the claim is retried until the server answers; the work runs once", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second), "--busy-reply-threshold", "10")
		f.warmUp(f.guard)
		go func() { _, _ = f.server.Do("EVAL", "while true do end", "0") }()
		f.eventually(5*time.Second, "the server is busy", f.serverBusy)
		time.AfterFunc(time.Second, func() { f.server.Must("SCRIPT", "KILL") })
		f.wantReplay(order, f.do(f.guard, order))
	}},
	{12, "server busy for longer than the budget", "the caller gets ErrDown within seconds; the work does not run", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second), "--busy-reply-threshold", "10")
		f.warmUp(f.guard)
		go func() { _, _ = f.server.Do("EVAL", "while true do end", "0") }()
		f.eventually(5*time.Second, "the server is busy", f.serverBusy)
		start := time.Now()
		f.wantRefused(guard.ErrDown)
		if d := time.Since(start); d > 8*time.Second {
			t.Errorf("Do returned after %v, want at most 8s", d)
		}
		f.server.Must("SCRIPT", "KILL")
		f.do(f.guard, order)
	}},
	{14, "server is a replica (READONLY)", "the caller gets ErrDown; the work does not run until the server is the primary", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		f.warmUp(f.guard)
		f.server.Must("REPLICAOF", "127.0.0.1", "1")
		f.wantRefused(guard.ErrDown)
		time.AfterFunc(time.Second, func() { f.server.Must("REPLICAOF", "NO", "ONE") })
		f.wantReplay(order, f.do(f.guard, order))
	}},
	{14, "too few replicas (NOREPLICAS)", "the caller gets ErrDown, not ErrDuplicate; the work does not run", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		f.warmUp(f.guard)
		f.server.Must("CONFIG", "SET", "min-replicas-to-write", "1")
		f.wantRefused(guard.ErrDown)
	}},
	{23, "pool exhausted (go-redis)", "new callers get ErrDown because of ErrOverloaded; the claim of running work is renewed", guardExhaustedPool},
	{43, "disk full, writes refused (MISCONF)", "new callers get ErrDown, and their work does not run; a result is stored when writes work again", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second), "--save", "3600 1000")
		_, claim := f.begin(f.guard)
		// A directory with the name of the file makes every save fail.
		dump := filepath.Join(f.server.Dir(), "dump.rdb")
		if err := os.Mkdir(dump, 0o700); err != nil {
			t.Fatal(err)
		}
		f.server.Must("BGSAVE")
		f.eventually(10*time.Second, "writes are refused", func() bool {
			_, err := f.server.Do("SET", "x", "y")
			return err != nil && strings.Contains(err.Error(), "MISCONF")
		})
		_, err := f.guard.Do(t.Context(), guard.Of("ada", "full"), f.work)
		f.wantErr(err, guard.ErrDown)
		f.wantRuns(1)
		f.wantErr(claim.Complete("result 1"), guard.ErrNotStored)
		if err := os.Remove(dump); err != nil {
			t.Fatal(err)
		}
		f.server.Must("BGSAVE")
		f.eventually(20*time.Second, "the result is stored late", func() bool { return f.guard.Stats().Endings[guard.StoredLate] == 1 })
		f.wantReplay(order, "result 1")
	}},
}

// guardExhaustedPool blocks all connections of a go-redis pool. The engine renews claims on
// a connection of its own, which is not in the pool.
func guardExhaustedPool(t *testing.T) {
	server := redistest.Start(t)
	pool := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 3, PoolTimeout: 300 * time.Millisecond, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = pool.Close() })
	e := goredis.New(pool)
	t.Cleanup(func() { _ = e.Close() })
	f := &guardFixture{fixture: &fixture{t: t, server: server}}
	f.guard = newGuard(t, f.newClient(e), strictPolicy(3*time.Second))
	ctx, claim := f.begin(f.guard)
	f.wantHeld(ctx, 1500*time.Millisecond) // until the first renewal has opened that connection
	done := make(chan struct{}, 3)
	for range 3 {
		go func() { // ends with the RPUSH below
			pool.BLPop(context.Background(), time.Minute, "nothing")
			done <- struct{}{}
		}()
	}
	f.eventually(10*time.Second, "all pool connections are blocked", func() bool {
		return strings.Contains(server.Must("INFO", "clients"), "blocked_clients:3\r")
	})
	_, err := f.guard.Do(t.Context(), guard.Of("ada", "overloaded"), f.work)
	f.wantErr(err, guard.ErrDown)
	f.wantErr(err, engine.ErrOverloaded)
	f.wantRuns(1)
	f.wantHeld(ctx, 5*time.Second)
	server.Must("RPUSH", "nothing", "1", "2", "3")
	for range 3 {
		<-done
	}
	f.eventually(10*time.Second, "the pool serves again", func() bool {
		_, err := f.guard.Do(t.Context(), guard.Of("ada", "overloaded"), f.work)
		return !errors.Is(err, guard.ErrDown)
	})
	f.runs.Store(1)
	f.complete(claim)
}
