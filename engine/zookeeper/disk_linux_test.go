package zookeeper_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// A server that cannot write its log ends. Changes that it has confirmed are there when it
// starts again.
func TestAFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=12m"); err != nil {
		t.Skipf("needs the permission to mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := zookeepertest.Start(t, "dataDir="+dir)
	e := open(t, s.URL(), zookeeper.Session(2*time.Second), zookeeper.Timeout(5*time.Second))
	r := request(t, ann, "a")
	first := granted(t, e, r)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	l, large := e.Capabilities().Ledger, bytes.Repeat([]byte("x"), 50<<10)
	var done []string // the keys whose settlement was confirmed
	var err error
	for n := 0; err == nil && n < 1000; n++ {
		c := engine.Claim{Key: key(t) + string(rune('a'+n%26)) + string(rune('a'+n/26)), Attempt: "a", Lease: 10 * time.Minute, Retain: time.Hour}
		if _, err = l.Claim(ctx, c); err != nil {
			break
		}
		if _, err = l.Settle(ctx, engine.Settlement{Key: c.Key, Attempt: "a", Outcome: engine.Done, Result: large, Retain: time.Hour}); err == nil {
			done = append(done, c.Key)
		}
	}
	if !engine.Temporary(err) || len(done) == 0 {
		t.Fatalf("after %d settlements the error is %v, want one that a retry may help", len(done), err)
	}
	if _, err := e.Acquire(ctx, request(t, bob, "b")); err == nil {
		t.Error("a held lock was granted")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	r.Retry = true
	if again := granted(t, e, r); again != first {
		t.Errorf("the grant went from %+v to %+v", first, again)
	}
	busy(t, e, request(t, bob, "c"))
	for _, key := range done {
		found, err := l.Lookup(ctx, key)
		if err != nil || found.State != engine.Done || !bytes.Equal(found.Result, large) {
			t.Errorf("the record of %s is %v with %d bytes, error %v; want %v", key, found.State, len(found.Result), err, engine.Done)
		}
	}
	released(t, e, r, engine.Released)
	if next := granted(t, e, request(t, bob, "d")); next.Fence <= first.Fence {
		t.Errorf("fence %d follows fence %d, want a higher one", next.Fence, first.Fence)
	}
}
