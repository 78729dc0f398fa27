package torture

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine/enginetest/history"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestStorm has a thousand goroutines in four processes compete for one key on a real
// Redis (requirement R2). It requires a minimum number of grants, because an idle test
// proves nothing.
func TestStorm(t *testing.T) {
	const (
		processes  = 4
		goroutines = 250
		duration   = 20 * time.Second
		minGrants  = 2000
		maxWait    = 30 * time.Second
	)
	server := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "history")
	var workers []interface{ Wait() error }
	for i := range processes {
		workers = append(workers, start(t, job{
			Do: "contend", Engine: server.URL(), History: file, Process: fmt.Sprint(i),
			Key: "storm:1", Goroutines: goroutines, For: duration,
		}))
	}
	for i, w := range workers {
		if err := w.Wait(); err != nil {
			t.Fatalf("process %d: %v", i, err)
		}
	}
	events, err := history.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	report := history.Check(events, history.Within(maxWait))
	fmt.Printf("storm: %v\n", report)
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	if report.Grants < minGrants {
		t.Errorf("%d grants, want at least %d", report.Grants, minGrants)
	}
	grants := map[string]int{}
	for _, e := range events {
		if e.Kind == history.Enter {
			grants[e.Process+"/"+e.Actor]++
		}
	}
	if n := len(grants); n != processes*goroutines {
		t.Errorf("%d of %d goroutines got the lock, want all", n, processes*goroutines)
	}
	if left := server.Must("EXISTS", "storm:1"); left != "0" {
		t.Error("the lock was not released")
	}
}
