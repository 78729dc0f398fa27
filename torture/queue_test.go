package torture

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// A queue is a lock that the test holds while processes line up for it.
type queue struct {
	*place
	job     job // of those who line up
	hold    *interlock.Hold
	log     *history.FileLog
	workers []*worker
}

// newQueue takes the lock that the job is about.
func (p *place) newQueue(t *testing.T, j job) *queue {
	t.Helper()
	j.Redis, j.History = p.server.URL(), filepath.Join(t.TempDir(), "history")
	q := &queue{place: p, job: j}
	var err error
	if q.log, err = history.OpenFile(j.History, "outside"); err != nil {
		t.Fatal(err)
	}
	outside := j
	if j.Kind == interlock.KindRead {
		outside.Kind = interlock.KindWrite
	}
	_, q.hold, err = outside.lock(p.other).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q.add(history.Event{Kind: history.Enter, Actor: "holder", Holder: q.hold.Holder(), Fence: q.hold.Fence()})
	return q
}

func (q *queue) add(e history.Event) {
	e.Key = q.job.Key
	q.log.Add(e)
}

// start has a process line up as soon as it is told to.
func (q *queue) start(t *testing.T, process string) *worker {
	t.Helper()
	j := q.job
	j.Process = process
	w := start(t, j)
	q.workers = append(q.workers, w)
	return w
}

// ask has n more of a process in line.
func (q *queue) ask(t *testing.T, w *worker, n int) {
	t.Helper()
	if err := w.ask(n); err != nil {
		t.Fatal(err)
	}
}

// line waits until n are in line, and the engine knows of which processes.
func (q *queue) line(t *testing.T, n int) (line []interlock.WaiterInfo) {
	t.Helper()
	q.soon(time.Minute, "all callers wait in the queue", func() bool {
		lock, err := q.other.Inspect(t.Context(), q.job.Key)
		if err != nil {
			t.Fatal(err)
		}
		line = lock.Waiters
		for _, w := range line {
			if w.Client == nil {
				return false
			}
		}
		return len(line) >= n
	})
	if len(line) != n {
		t.Fatalf("%d stand in line, want %d", len(line), n)
	}
	return line
}

// note writes down the line.
func (q *queue) note(line []interlock.WaiterInfo) {
	for _, w := range line {
		q.add(history.Event{Kind: history.Queued, Holder: w.Holder, Process: w.Client.Name, Shared: w.Kind == interlock.KindRead})
	}
}

// kill ends a process as a crash would.
func (q *queue) kill(w *worker) {
	w.kill()
	q.log.Add(history.Event{Kind: history.Lost, Process: w.job.Process})
}

// open lets the line go.
func (q *queue) open(t *testing.T) {
	t.Helper()
	q.add(history.Event{Kind: history.Leave, Actor: "holder"})
	if err := q.hold.Unlock(); err != nil {
		t.Fatal(err)
	}
}

// served waits until all who live have had their turn, and judges how it went.
func (q *queue) served(t *testing.T) history.Report {
	t.Helper()
	living := slices.DeleteFunc(slices.Clone(q.workers), func(w *worker) bool { return w.ProcessState != nil })
	for _, w := range living {
		_ = w.orders.Close()
	}
	for _, w := range living {
		if err := w.Wait(); err != nil {
			t.Fatalf("process %s: %v", w.job.Process, err)
		}
	}
	if err := q.log.Close(); err != nil {
		t.Fatal(err)
	}
	events, err := history.ReadFile(q.job.History)
	if err != nil {
		t.Fatal(err)
	}
	report := history.Check(events)
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	return report
}
