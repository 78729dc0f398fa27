package history_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/engine/enginetest/history"
)

func TestLogKeepsTheOrder(t *testing.T) {
	var (
		log  history.Log
		lock sync.Mutex
		all  sync.WaitGroup
	)
	for i := range 8 {
		all.Go(func() {
			actor := fmt.Sprint("g", i)
			for range 100 {
				log.Add(history.Event{Kind: history.Ask, Key: "k", Actor: actor})
				lock.Lock()
				log.Add(history.Event{Kind: history.Enter, Key: "k", Actor: actor})
				log.Add(history.Event{Kind: history.Leave, Key: "k", Actor: actor})
				lock.Unlock()
			}
		})
	}
	all.Wait()
	r := history.Check(log.Events())
	if r.Err() != nil || r.Grants != 800 || r.Jain != 1 {
		t.Errorf("the report of a sound history is\n%v\nwant 800 grants and no violation", r)
	}
}

// TestProcessesShareAFile runs itself three times as a child process that writes events.
func TestProcessesShareAFile(t *testing.T) {
	const lines = 1000
	if path := os.Getenv("HISTORY_FILE"); path != "" {
		write(t, path, os.Getenv("HISTORY_PROCESS"), lines)
		return
	}
	path := filepath.Join(t.TempDir(), "history")
	var all sync.WaitGroup
	for _, process := range []string{"one", "two", "three"} {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestProcessesShareAFile$")
			cmd.Env = append(os.Environ(), "HISTORY_FILE="+path, "HISTORY_PROCESS="+process)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %s: %v\n%s", process, err, out)
			}
		})
	}
	all.Wait()
	events, err := history.ReadFile(path)
	if err != nil || len(events) != 3*lines {
		t.Fatalf("read %d events, %v; want %d", len(events), err, 3*lines)
	}
	if r := history.Check(events); r.Err() != nil || r.Processes != 3 || r.Keys != 3 {
		t.Errorf("the report is\n%v\nwant 3 processes, 3 keys and no violation", r)
	}
}

func write(t *testing.T, path, process string, lines int) {
	log, err := history.OpenFile(path, process)
	if err != nil {
		t.Fatal(err)
	}
	for i := range lines {
		kind := history.Enter
		if i%2 == 1 {
			kind = history.Leave
		}
		log.Add(history.Event{Kind: kind, Key: "k" + process, Actor: strings.Repeat("long", 100), Fence: uint64(i + 1)})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	t.Run("an incomplete last line is ignored", func(t *testing.T) {
		os.WriteFile(path, []byte(`{"kind":"enter","key":"k","at":"2026-01-01T00:00:00Z"}`+"\n"+`{"kind":"le`), 0o600)
		if events, err := history.ReadFile(path); err != nil || len(events) != 1 {
			t.Errorf("read %d events, %v; want 1", len(events), err)
		}
	})
	t.Run("the error names a line that is not an event", func(t *testing.T) {
		os.WriteFile(path, []byte("{}\nnonsense\n"), 0o600)
		if _, err := history.ReadFile(path); err == nil || !strings.Contains(err.Error(), "history:2") {
			t.Errorf("ReadFile = %v, want an error that names line 2", err)
		}
	})
	t.Run("Close returns an error if an event was not written", func(t *testing.T) {
		log, err := history.OpenFile(path, "one")
		if err != nil {
			t.Fatal(err)
		}
		log.Close()
		log.Add(history.Event{Kind: history.Ask})
		if err := log.Close(); err == nil || !strings.Contains(err.Error(), "lacks events") {
			t.Errorf("Close = %v, want an error that says that events are missing", err)
		}
	})
}
