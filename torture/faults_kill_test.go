package torture

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// queueLifetime is how long the server keeps a queue of dead waiters at most: twice the 5s
// after which their positions expire, and a second more.
const queueLifetime = 11 * time.Second

// Rows in which a waiter, a reader or a permit holder is killed.
var killRows = []row{
	{31, "waiter in a fair queue killed", "the waiters behind it are delayed by 5 s at most", func(t *testing.T) {
		f := newFixture(t)
		q := f.newQueue(t, job{Do: "queue", Key: key, Kind: interlock.KindFair})
		doomed := q.start(t, "doomed")
		q.addWaiters(t, doomed, 1)
		q.waitFor(t, 1)
		q.addWaiters(t, q.start(t, "living"), 1)
		q.recordQueue(q.waitFor(t, 2))
		q.kill(doomed)
		q.release(t)
		if report := q.checkServed(t); report.Grants != 2 || report.Gap > maxIdle {
			t.Errorf("%d grants with a longest gap of %v, want 2 and at most %v", report.Grants, report.Gap, maxIdle)
		}
		f.wantNoKeys(queueLifetime)
	}},
	{31, "500 of 1,000 waiters in a fair queue killed", "the other 500 are served in order, 5 s later at most", func(t *testing.T) {
		const each = 500
		f := newFixture(t)
		q := f.newQueue(t, job{Do: "queue", Key: key, Kind: interlock.KindFair})
		doomed, living := q.start(t, "doomed"), q.start(t, "living")
		for range each / 50 { // alternating, so that both are spread over the queue
			q.addWaiters(t, living, 49)
			q.addWaiters(t, doomed, 50)
		}
		q.waitFor(t, 2*each-each/50)
		q.addWaiters(t, living, each/50)
		q.recordQueue(q.waitFor(t, 2*each))
		q.kill(doomed)
		q.release(t)
		report := q.checkServed(t)
		fmt.Printf("half of 1,000 killed: %v\n", report)
		if report.Grants != each+1 || report.Gap > maxIdle {
			t.Errorf("%d grants with a longest gap of %v, want %d and at most %v", report.Grants, report.Gap, each+1, maxIdle)
		}
		f.wantNoKeys(queueLifetime)
	}},
	{31, "waiting writer killed", "readers are admitted again, 5 s later at most", func(t *testing.T) {
		f := newFixture(t)
		lock := f.other.RWMutex(key)
		_, reading := f.lock(lock.Read())
		writer := start(t, job{Do: "queue", Engine: f.server.URL(), History: filepath.Join(t.TempDir(), "history"),
			Process: "writer", Key: key, Kind: interlock.KindWrite})
		if err := writer.addWaiters(1); err != nil {
			t.Fatal(err)
		}
		f.waitForQueue(1)
		_, _, err := lock.Read().TryLock(t.Context())
		f.wantErr(err, interlock.ErrContended)
		writer.kill()
		killed := time.Now()
		_, second := f.lock(lock.Read())
		if d := time.Since(killed); d > maxIdle {
			t.Errorf("a reader was admitted %v after the writer was killed, want at most %v", d, maxIdle)
		}
		f.unlock(second)
		f.unlock(reading)
		f.wantNoKeys(queueLifetime)
	}},
	{31, "reader killed", "a writer gets the lock when the reader's lease expires", func(t *testing.T) {
		f := newFixture(t)
		lease := f.killHolder(job{Kind: interlock.KindRead})
		killed := time.Now()
		_, hold := f.lock(f.client.RWMutex(key).Write())
		if d := time.Since(killed); d > lease+time.Second {
			t.Errorf("the writer got the lock after %v, want at most the lease of %v and 1s", d, lease)
		}
		f.unlock(hold)
		f.wantNoKeys(queueLifetime)
	}},
	{31, "process with permits killed", "its permits return when its lease expires", func(t *testing.T) {
		const permits = 3
		f := newFixture(t)
		lease := f.killHolder(job{Kind: interlock.KindPermit, Limit: permits, Goroutines: permits})
		killed := time.Now()
		semaphore := f.client.Semaphore(key, permits)
		_, _, err := semaphore.TryAcquire(t.Context())
		f.wantErr(err, interlock.ErrContended)
		for range permits {
			_, hold := f.lock(semaphore.Permit())
			defer f.unlock(hold)
		}
		if d := time.Since(killed); d > lease+time.Second {
			t.Errorf("all %d permits were acquired after %v, want at most the lease of %v and 1s", permits, d, lease)
		}
	}},
}

// killHolder starts a process that acquires j's lock, and kills it. It returns the
// lease of the killed holder.
func (f *fixture) killHolder(j job) (lease time.Duration) {
	f.t.Helper()
	lease = 2 * time.Second
	j.Do, j.Engine, j.History, j.Process, j.Key, j.Watchdog = "hold", f.server.URL(), filepath.Join(f.t.TempDir(), "history"), "killed", key, lease
	holder := start(f.t, j)
	f.eventually(20*time.Second, "the other process holds its locks", func() bool {
		lock, err := f.other.Inspect(f.t.Context(), key)
		return err == nil && len(lock.Holders) == max(1, j.Goroutines)
	})
	holder.kill()
	return lease
}
