package torture

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// Rows in which a lock's holder is paused, killed or shut down.
var processRows = []row{
	{30, "holder paused for longer than the lease", "the holder loses the lock on waking; the next holder has a higher fence", func(t *testing.T) {
		f := newFixture(t)
		file := filepath.Join(t.TempDir(), "history")
		holder := start(t, job{Do: "hold", Engine: f.server.URL(), History: file, Process: "paused", Key: key, Watchdog: time.Second})
		first := f.waitForHolder(file)
		_ = holder.Process.Signal(syscall.SIGSTOP)
		_, otherHold := f.lock(f.client.Mutex(key))
		if otherHold.Fence() <= first.Fence {
			t.Errorf("the second holder has fence %d, want one above %d", otherHold.Fence(), first.Fence)
		}
		_ = holder.Process.Signal(syscall.SIGCONT)
		woken := time.Now()
		if err := holder.Wait(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(woken); d > 2*time.Second {
			t.Errorf("the holder noticed the loss %v after waking, want at most 2s", d)
		}
		f.unlock(otherHold)
	}},
	{31, "holder killed (SIGKILL)", "the lock is free when the lease expires; a waiter finds out by polling", func(t *testing.T) {
		f := newFixture(t)
		file := filepath.Join(t.TempDir(), "history")
		const lease = 1500 * time.Millisecond
		holder := start(t, job{Do: "hold", Engine: f.server.URL(), History: file, Process: "killed", Key: key, Watchdog: lease})
		f.waitForHolder(file)
		_ = holder.Process.Kill()
		_ = holder.Wait()
		killed := time.Now()
		_, hold := f.lock(f.client.Mutex(key))
		if d := time.Since(killed); d > lease+time.Second {
			t.Errorf("the lock was free after %v, want at most the lease of %v and 1s", d, lease)
		}
		f.unlock(hold)
	}},
	{39, "shutdown (SIGTERM)", "no new lock is granted; holders finish, or their locks are released", func(t *testing.T) {
		f := newFixture(t)
		file := filepath.Join(t.TempDir(), "history")
		const locks = 20
		server := start(t, job{Do: "serve", Engine: f.server.URL(), History: file, Process: "server", Key: key, Goroutines: locks, For: time.Second})
		f.eventually(20*time.Second, "the server holds its locks", func() bool { return len(strings.Fields(leftoverKeys(f.server))) == locks })
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := server.Wait(); err != nil {
			t.Fatal(err)
		}
		if left := leftoverKeys(f.server); left != "" {
			t.Errorf("the server still has the keys %s, want none", left)
		}
	}},
}

// waitForHolder waits for the first holder in the history, and returns its event.
func (f *fixture) waitForHolder(file string) (e history.Event) {
	f.t.Helper()
	f.eventually(20*time.Second, "the other process holds the lock", func() bool {
		events, _ := history.ReadFile(file) // the file may not exist yet
		for _, e = range events {
			if e.Kind == history.Enter {
				return true
			}
		}
		return false
	})
	return e
}
