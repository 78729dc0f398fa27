package etcd_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// A member that cannot write to its disk ends. Changes that it has confirmed are there when
// it starts again.
func TestAFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The log alone takes two files of 64 MB.
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=160m"); err != nil {
		t.Skipf("needs the permission to mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	m := etcdtest.Start(t, "--data-dir", filepath.Join(dir, "data"))
	e := open(t, m.URL(), etcd.Timeout(5*time.Second))
	r := request(ann)
	r.Lease = 10 * time.Minute
	first := granted(t, e, r)
	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast, 4<<20)
	l, large := e.Capabilities().Ledger, bytes.Repeat([]byte("x"), 500<<10)
	var done []string // the keys whose settlement was confirmed
	var err error
	for n := 0; err == nil && n < 100; n++ {
		c := claim()
		c.Lease = 10 * time.Minute
		if _, err = l.Claim(t.Context(), c); err != nil {
			break
		}
		if _, err = l.Settle(t.Context(), engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Result: large, Retain: time.Hour}); err == nil {
			done = append(done, c.Key)
		}
	}
	if !engine.Temporary(err) || len(done) == 0 {
		t.Fatalf("after %d settlements the error is %v, want one that a retry may help", len(done), err)
	}
	if g, err := e.Acquire(t.Context(), by(bob, r)); err == nil {
		t.Errorf("a held lock was granted: %+v", g)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	m.Restart()
	r.Retry = true
	eventually(t, func() error {
		again, err := e.Acquire(t.Context(), r)
		if err == nil && again != first {
			err = fmt.Errorf("the grant went from %+v to %+v", first, again)
		}
		return err
	})
	busy(t, e, by(bob, r))
	for _, key := range done {
		found, err := l.Lookup(t.Context(), key)
		if err != nil || found.State != engine.Done || !bytes.Equal(found.Result, large) {
			t.Errorf("the record of %s is %v with %d bytes, error %v; want %v", key, found.State, len(found.Result), err, engine.Done)
		}
	}
	released(t, e, r, engine.Released)
	if next := granted(t, e, by(bob, r)); next.Fence <= first.Fence {
		t.Errorf("fence %d follows fence %d, want a higher one", next.Fence, first.Fence)
	}
}

// fill fills the disk with a file, but for some bytes.
func fill(t testing.TB, path string, free int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := int64(0)
	for chunk := make([]byte, 1<<20); ; {
		n, err := f.Write(chunk)
		if size += int64(n); err != nil {
			break
		}
	}
	if err := f.Truncate(max(0, size-free)); err != nil {
		t.Fatal(err)
	}
}
