package torture

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// A queue is a lock that the test holds while processes wait for it.
type queue struct {
	*fixture
	job     job // of the waiting processes
	hold    *interlock.Hold
	log     *history.FileLog
	workers []*worker
}

// newQueue acquires j's lock.
func (f *fixture) newQueue(t *testing.T, j job) *queue {
	t.Helper()
	j.Engine, j.History = f.server.URL(), filepath.Join(t.TempDir(), "history")
	q := &queue{fixture: f, job: j}
	var err error
	if q.log, err = history.OpenFile(j.History, "outside"); err != nil {
		t.Fatal(err)
	}
	outside := j
	if j.Kind == interlock.KindRead {
		outside.Kind = interlock.KindWrite
	}
	_, q.hold, err = outside.lock(f.other).Lock(t.Context())
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

// start starts a process that adds waiters on command.
func (q *queue) start(t *testing.T, process string) *worker {
	t.Helper()
	j := q.job
	j.Process = process
	w := start(t, j)
	q.workers = append(q.workers, w)
	return w
}

// addWaiters adds n waiters of a process to the queue.
func (q *queue) addWaiters(t *testing.T, w *worker, n int) {
	t.Helper()
	if err := w.addWaiters(n); err != nil {
		t.Fatal(err)
	}
}

// waitFor waits until the queue has n waiters and the engine knows the client of each.
func (q *queue) waitFor(t *testing.T, n int) (waiters []interlock.WaiterInfo) {
	t.Helper()
	q.eventually(time.Minute, "all callers wait in the queue", func() bool {
		lock, err := q.other.Inspect(t.Context(), q.job.Key)
		if err != nil {
			t.Fatal(err)
		}
		waiters = lock.Waiters
		for _, w := range waiters {
			if w.Client == nil {
				return false
			}
		}
		return len(waiters) >= n
	})
	if len(waiters) != n {
		t.Fatalf("the queue has %d waiters, want %d", len(waiters), n)
	}
	return waiters
}

// recordQueue adds the waiters to the history.
func (q *queue) recordQueue(waiters []interlock.WaiterInfo) {
	for _, w := range waiters {
		q.add(history.Event{Kind: history.Queued, Holder: w.Holder, Process: w.Client.Name, Shared: w.Kind == interlock.KindRead})
	}
}

// kill kills a process with SIGKILL and adds that to the history.
func (q *queue) kill(w *worker) {
	w.kill()
	q.log.Add(history.Event{Kind: history.Lost, Process: w.job.Process})
}

// release releases the lock that the test holds.
func (q *queue) release(t *testing.T) {
	t.Helper()
	q.add(history.Event{Kind: history.Leave, Actor: "holder"})
	if err := q.hold.Unlock(); err != nil {
		t.Fatal(err)
	}
}

// checkServed waits until all living waiters had the lock, and checks the history.
func (q *queue) checkServed(t *testing.T) history.Report {
	t.Helper()
	living := slices.DeleteFunc(slices.Clone(q.workers), func(w *worker) bool { return w.ProcessState != nil })
	for _, w := range living {
		_ = w.stdin.Close()
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
