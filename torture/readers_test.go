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
// (T1, T14's stock). No reader overlaps a writer, and no caller waits longer than all
// others together can take.
func TestReadersAndWriters(t *testing.T) {
	const (
		processes        = 3
		readers, writers = 50, 5
		hold             = 5 * time.Millisecond

		// A waiter has each of the others before it once at most, and
		// each of them may take this long to come, stay and leave on a machine
		// that has other things to do; a wake-up may go astray.
		turn  = hold + 25*time.Millisecond
		bound = (readers+writers)*turn + time.Second
	)
	duration, leastReads, leastWrites := 20*time.Second, 2000, 200
	if testing.Short() {
		duration, leastReads, leastWrites = 8*time.Second, 800, 80
	}
	server := redistest.Start(t)
	j := job{Do: "share", Redis: server.URL(), History: filepath.Join(t.TempDir(), "history"), Key: "stock:1", Hold: hold, For: duration}
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
	for _, side := range []struct {
		name       string
		events     []history.Event
		who, least int
	}{{"writers", writing, writers, leastWrites}, {"readers", reading, readers, leastReads}} {
		report := history.Check(side.events, history.Within(bound))
		fmt.Printf("%s: %v\n", side.name, report)
		if err := report.Err(); err != nil {
			t.Error(err)
		}
		if report.Who != side.who || report.Grants < side.least {
			t.Errorf("%d %s were let in %d times, want %d, and %d times at least", report.Who, side.name, report.Grants, side.who, side.least)
		}
	}
	if left := server.Must("EXISTS", j.Key); left != "0" {
		t.Error("the lock is still there")
	}
}
