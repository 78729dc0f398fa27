package torture

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// lineLife is how long a line in which only the dead stand is kept at most: for
// as long as their places, and a place's time more.
const lineLife = 11 * time.Second

// Rows in which a process is killed that is not the holder of an exclusive lock.
var deathRows = []row{
	{31, "waiter in a fair line killed", "costs those behind it 5 s at most", func(t *testing.T) {
		p := newPlace(t)
		q := p.newQueue(t, job{Do: "queue", Key: key, Kind: interlock.KindFair})
		doomed := q.start(t, "doomed")
		q.ask(t, doomed, 1)
		q.line(t, 1)
		q.ask(t, q.start(t, "living"), 1)
		q.note(q.line(t, 2))
		q.kill(doomed)
		q.open(t)
		if report := q.served(t); report.Grants != 2 || report.Gap > gap {
			t.Errorf("%d were served, with a gap of %v", report.Grants, report.Gap)
		}
		p.wantNothing(lineLife)
	}},
	{31, "500 of 1,000 waiters in a fair line killed", "the other 500 in order, 5 s later at most", func(t *testing.T) {
		const each = 500
		p := newPlace(t)
		q := p.newQueue(t, job{Do: "queue", Key: key, Kind: interlock.KindFair})
		doomed, living := q.start(t, "doomed"), q.start(t, "living")
		for range each / 50 { // by turns, so that both are all along the line
			q.ask(t, living, 49)
			q.ask(t, doomed, 50)
		}
		q.line(t, 2*each-each/50)
		q.ask(t, living, each/50)
		q.note(q.line(t, 2*each))
		q.kill(doomed)
		q.open(t)
		report := q.served(t)
		fmt.Printf("half of 1,000 killed: %v\n", report)
		if report.Grants != each+1 || report.Gap > gap {
			t.Errorf("%d were served, with a gap of %v", report.Grants, report.Gap)
		}
		p.wantNothing(lineLife)
	}},
	{31, "writer killed while it waits", "readers go on, 5 s later at most", func(t *testing.T) {
		p := newPlace(t)
		lock := p.other.RWMutex(key)
		_, reading := p.lock(lock.Read())
		writer := start(t, job{Do: "queue", Redis: p.server.URL(), History: filepath.Join(t.TempDir(), "history"),
			Process: "writer", Key: key, Kind: interlock.KindWrite})
		if err := writer.ask(1); err != nil {
			t.Fatal(err)
		}
		p.inLine(1)
		_, _, err := lock.Read().TryLock(t.Context())
		p.wantErr(err, interlock.ErrContended)
		writer.kill()
		killed := time.Now()
		_, second := p.lock(lock.Read())
		if d := time.Since(killed); d > gap {
			t.Errorf("readers went on %v after the writer was killed", d)
		}
		p.unlock(second)
		p.unlock(reading)
		p.wantNothing(lineLife)
	}},
	{31, "reader killed", "a writer gets in when its lease is over", func(t *testing.T) {
		p := newPlace(t)
		lease := p.heldBy(job{Kind: interlock.KindRead})
		killed := time.Now()
		_, hold := p.lock(p.client.RWMutex(key).Write())
		if d := time.Since(killed); d > lease+time.Second {
			t.Errorf("let in after %v, with a lease of %v", d, lease)
		}
		p.unlock(hold)
		p.wantNothing(lineLife)
	}},
	{31, "process with permits killed", "they come back when its lease is over", func(t *testing.T) {
		const permits = 3
		p := newPlace(t)
		lease := p.heldBy(job{Kind: interlock.KindPermit, Limit: permits, Goroutines: permits})
		killed := time.Now()
		semaphore := p.client.Semaphore(key, permits)
		_, _, err := semaphore.TryAcquire(t.Context())
		p.wantErr(err, interlock.ErrContended)
		for range permits {
			_, hold := p.lock(semaphore.Permit())
			defer p.unlock(hold)
		}
		if d := time.Since(killed); d > lease+time.Second {
			t.Errorf("%d permits after %v, with a lease of %v", permits, d, lease)
		}
	}},
}

// heldBy has a process take what the job is about, and kills it. It returns how
// long its lease is.
func (p *place) heldBy(j job) (lease time.Duration) {
	p.t.Helper()
	lease = 2 * time.Second
	j.Do, j.Redis, j.History, j.Process, j.Key, j.Watchdog = "hold", p.server.URL(), filepath.Join(p.t.TempDir(), "history"), "killed", key, lease
	holder := start(p.t, j)
	p.soon(20*time.Second, "the other process holds all it wants", func() bool {
		lock, err := p.other.Inspect(p.t.Context(), key)
		return err == nil && len(lock.Holders) == max(1, j.Goroutines)
	})
	holder.kill()
	return lease
}
