package torture

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine/enginetest/history"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestReadersAndWriters runs 50 readers and 5 writers in three processes on a real Redis
// (requirement T1, and the scenario stock of T14). No reader overlaps a writer. No caller
// waits longer than all other callers take together.
func TestReadersAndWriters(t *testing.T) {
	const (
		processes        = 3
		readers, writers = 50, 5
		hold             = 5 * time.Millisecond

		// Every other caller overtakes a waiter at most once. On a busy machine each needs
		// up to perHold. One wake-up may be lost.
		perHold = hold + 25*time.Millisecond
		bound   = (readers+writers)*perHold + time.Second
	)
	duration, leastReads, leastWrites := 20*time.Second, 2000, 200
	if testing.Short() {
		duration, leastReads, leastWrites = 8*time.Second, 800, 80
	}
	server := redistest.Start(t)
	j := job{Do: "share", Engine: server.URL(), History: filepath.Join(t.TempDir(), "history"), Key: "stock:1", Hold: hold, For: duration}
	var workers []*worker
	for i := range processes {
		j.Process, j.Writers = fmt.Sprint(i), (writers+i)/processes
		j.Goroutines = j.Writers + (readers+i)/processes
		workers = append(workers, start(t, j))
	}
	for i, w := range workers {
		if err := w.Wait(); err != nil {
			t.Fatalf("process %d: %v", i, err)
		}
	}
	events, err := history.ReadFile(j.History)
	if err != nil {
		t.Fatal(err)
	}
	if err := history.Check(events).Err(); err != nil {
		t.Error(err)
	}
	writing := slices.DeleteFunc(slices.Clone(events), func(e history.Event) bool { return e.Shared })
	reading := slices.DeleteFunc(events, func(e history.Event) bool { return !e.Shared })
	for _, group := range []struct {
		name          string
		events        []history.Event
		actors, least int
	}{{"writers", writing, writers, leastWrites}, {"readers", reading, readers, leastReads}} {
		report := history.Check(group.events, history.Within(bound))
		fmt.Printf("%s: %v\n", group.name, report)
		if err := report.Err(); err != nil {
			t.Error(err)
		}
		if report.Who != group.actors || report.Grants < group.least {
			t.Errorf("%d %s got the lock %d times, want %d and at least %d times", report.Who, group.name, report.Grants, group.actors, group.least)
		}
	}
	if left := server.Must("EXISTS", j.Key); left != "0" {
		t.Error("the lock was not released")
	}
}
