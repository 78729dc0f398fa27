package torture

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Rows in which the server is stopped or restarted, is full, or refuses commands.
var serverRows = []row{
	{9, "server stopped (SIGSTOP) and resumed", "the hold is lost when its lease expires; a late acquire leaves no key", func(t *testing.T) {
		f := newFixture(t)
		ctx, _ := f.lock(f.client.Mutex("held:1", interlock.Watchdog(1500*time.Millisecond)))
		f.server.Stop()
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, _, err := f.client.Mutex(key).Lock(short)
		f.wantErr(err, interlock.ErrOutcomeUnknown)
		f.wantLost(ctx, 1600*time.Millisecond, interlock.ErrExpired)
		f.server.Cont()
		f.eventually(20*time.Second, "the clean-up is done", func() bool { return f.client.Stats().CleanedUp == 1 })
		f.wantFree(time.Second)
	}},
	{10, "server restarted, data kept (AOF)", "the lock stays held; the scripts are sent again", func(t *testing.T) {
		f := newFixture(t, "--appendonly", "yes", "--appendfsync", "always")
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(6*time.Second)))
		f.server.Kill()
		f.server.Restart()
		f.wantHeld(ctx, 7*time.Second)
		f.unlock(hold)
		f.wantFree(time.Second)
	}},
	{10, "script cache flushed", "the scripts are sent again", func(t *testing.T) {
		f := newFixture(t)
		f.lockAndUnlock()
		f.server.Must("SCRIPT", "FLUSH")
		_, hold := f.lock(f.client.Mutex(key))
		f.server.Must("SCRIPT", "FLUSH")
		f.unlock(hold)
		f.wantFree(time.Second)
	}},
	{11, "server restarted empty", "the hold is lost with ErrNotHolder; the lock is not recreated", func(t *testing.T) {
		f := newFixture(t)
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(6*time.Second)))
		f.server.Kill()
		f.server.Restart()
		f.wantLost(ctx, 6*time.Second, interlock.ErrNotHolder)
		f.wantErr(hold.Unlock(), interlock.ErrLost)
		f.wantFree(0)
	}},
	{12, "server loading its data (LOADING)", "calls are retried until the server answers", func(t *testing.T) {
		f := newFixture(t, "--key-load-delay", "20000", "--appendonly", "yes", "--aof-use-rdb-preamble", "yes")
		for i := range 100 {
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
		_, hold := f.lock(f.client.Mutex(key))
		<-restarted
		f.unlock(hold)
	}},
	{12, "server busy with a script (BUSY)", "calls are retried until the server answers", func(t *testing.T) {
		f := newFixture(t, "--busy-reply-threshold", "10")
		f.lockAndUnlock()
		go func() { _, _ = f.server.Do("EVAL", "while true do end", "0") }()
		f.eventually(5*time.Second, "the server is busy", f.serverBusy)
		time.AfterFunc(time.Second, func() { f.server.Must("SCRIPT", "KILL") })
		_, hold := f.lock(f.client.Mutex(key))
		f.unlock(hold)
	}},
	{13, "a script that cannot be killed (UNKILLABLE)", "the caller gets ErrUnavailable within seconds; the script keeps running", func(t *testing.T) {
		f := newFixture(t, "--busy-reply-threshold", "10")
		f.lockAndUnlock()
		go func() { _, _ = f.server.Do("EVAL", "redis.call('SET','x','1') while true do end", "0") }()
		f.eventually(5*time.Second, "the server is busy", f.serverBusy)
		start := time.Now()
		_, _, err := f.client.Mutex(key).Lock(t.Context())
		f.wantErr(err, interlock.ErrUnavailable)
		if d := time.Since(start); d > 12*time.Second {
			t.Errorf("Lock returned after %v, want at most 12s", d)
		}
		if !f.serverBusy() {
			t.Error("the script was killed, want it to keep running")
		}
		f.server.Kill()
	}},
	{14, "server is a replica (READONLY)", "calls are retried until the server is the primary", func(t *testing.T) {
		f := newFixture(t)
		f.lockAndUnlock()
		f.server.Must("REPLICAOF", "127.0.0.1", "1")
		_, _, err := f.client.Mutex(key, interlock.Wait(200*time.Millisecond)).Lock(t.Context())
		f.wantErr(err, interlock.ErrUnavailable)
		time.AfterFunc(time.Second, func() { f.server.Must("REPLICAOF", "NO", "ONE") })
		_, hold := f.lock(f.client.Mutex(key))
		f.unlock(hold)
	}},
	{14, "too few replicas (NOREPLICAS)", "the caller gets ErrUnavailable, not ErrContended", func(t *testing.T) {
		f := newFixture(t)
		f.lockAndUnlock()
		f.server.Must("CONFIG", "SET", "min-replicas-to-write", "1")
		_, _, err := f.client.Mutex(key, interlock.Wait(200*time.Millisecond)).Lock(t.Context())
		f.wantErr(err, interlock.ErrUnavailable)
	}},
	{15, "failover to a node without the write", "the hold is lost at the next renewal; the next holder has a higher fence", failoverWithoutTheLock},
	{23, "no free connection (maxclients)", "a new connection fails with ErrOverloaded; the held lock is renewed", func(t *testing.T) {
		f := newFixture(t)
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(3*time.Second)))
		f.server.Must("CONFIG", "SET", "maxclients", "2")
		_, err := redisengine.Open(t.Context(), f.server.URL())
		f.wantErr(err, interlock.ErrOverloaded)
		f.wantHeld(ctx, 5*time.Second)
		f.unlock(hold)
	}},
	{23, "pool exhausted (go-redis)", "a new caller gets ErrOverloaded; renewals have their own connection", exhaustedPool},
	{24, "server out of memory, noeviction", "a new caller gets ErrFull; renewal and release still work", func(t *testing.T) {
		f := newFixture(t)
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(3*time.Second)))
		f.server.Must("CONFIG", "SET", "maxmemory", "1")
		_, _, err := f.client.Mutex("fault:2").Lock(t.Context())
		f.wantErr(err, interlock.ErrFull)
		f.wantHeld(ctx, 5*time.Second)
		f.unlock(hold)
		f.wantFree(time.Second)
	}},
	{25, "key deleted by another client", "the hold is lost with ErrNotHolder", func(t *testing.T) {
		f := newFixture(t)
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(3*time.Second)))
		f.server.Must("DEL", key)
		f.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		f.wantErr(hold.Unlock(), interlock.ErrLost)
	}},
}

// serverBusy reports whether the server runs a script that does not end.
func (f *fixture) serverBusy() bool {
	_, err := f.server.Do("PING")
	return err != nil && strings.Contains(err.Error(), "BUSY")
}

// failoverWithoutTheLock promotes a replica that does not have the lock.
func failoverWithoutTheLock(t *testing.T) {
	f := newFixture(t)
	replica := redistest.Start(t)
	for _, fenced := range []bool{false, true} {
		var opts []interlock.Option
		if fenced {
			opts = append(opts, interlock.Fenced())
		}
		ctx, hold := f.lock(f.client.Mutex(key, append(opts, interlock.Watchdog(3*time.Second))...))
		replica.Must("DEL", key, "redisson_lock_token:{"+key+"}") // as if not replicated
		f.proxy.Redirect(replica.Addr())
		second := f.newClient(f.openEngine(replica.URL()))
		_, otherHold := f.lock(second.Mutex(key, opts...))
		f.wantLost(ctx, 3*time.Second, interlock.ErrNotHolder)
		if otherHold.Fence() <= hold.Fence() {
			t.Errorf("fenced %v: the second holder has fence %d, want one above %d", fenced, otherHold.Fence(), hold.Fence())
		}
		f.wantErr(hold.Unlock(), interlock.ErrLost)
		f.unlock(otherHold)
		f.proxy.Redirect(f.server.Addr())
	}
}

// exhaustedPool blocks all connections of a go-redis pool. The engine renews locks on a
// connection of its own, which is not in the pool.
func exhaustedPool(t *testing.T) {
	server := redistest.Start(t)
	pool := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 3, PoolTimeout: 300 * time.Millisecond, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = pool.Close() })
	e := goredis.New(pool)
	t.Cleanup(func() { _ = e.Close() })
	f := &fixture{t: t, server: server}
	c := f.newClient(e)

	ctx, hold := f.lock(c.Mutex(key, interlock.Watchdog(3*time.Second)))
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
	_, _, err := c.Mutex("fault:2").TryLock(t.Context())
	f.wantErr(err, interlock.ErrOverloaded)
	f.wantHeld(ctx, 5*time.Second)
	server.Must("RPUSH", "nothing", "1", "2", "3")
	for range 3 {
		<-done
	}
	f.eventually(10*time.Second, "the pool serves again", func() bool {
		_, hold, err := c.Mutex("fault:2").TryLock(t.Context())
		return err == nil && hold.Unlock() == nil
	})
	f.unlock(hold)
}
