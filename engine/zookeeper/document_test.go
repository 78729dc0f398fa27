package zookeeper_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/zookeeper"
)

// connect returns a client of the server, for tests that look at its nodes.
func connect(t testing.TB, addr string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	for ev := range events {
		if ev.State == zk.StateHasSession {
			return conn
		}
	}
	t.Fatal("no session")
	return nil
}

func exists(t testing.TB, conn *zk.Conn, path string) bool {
	t.Helper()
	found, _, err := conn.Exists(path)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAReleasedLockLeavesNoNode(t *testing.T) {
	t.Parallel()
	e, conn := open(t, server(t).URL()), connect(t, server(t).Addr())
	for _, kind := range []engine.Kind{engine.Exclusive, engine.Fair, engine.Read, engine.Write, engine.Permit} {
		r := request(t, ann, "a")
		r.Kind, r.Limit, r.Fenced, r.FenceReserve = kind, 1, true, 8
		granted(t, e, r)
		if !exists(t, conn, e.Path(r.Key)) {
			t.Fatalf("the node of a held %s lock is not at %s", kind, e.Path(r.Key))
		}
		released(t, e, r, engine.Released)
		if exists(t, conn, e.Path(r.Key)) {
			t.Errorf("the node of a released %s lock is still there", kind)
		}
	}
}

func TestAnExpiredDocumentIsRemoved(t *testing.T) {
	t.Parallel()
	e, conn := open(t, server(t).URL()), connect(t, server(t).Addr())
	held, abandoned := request(t, ann, "a"), request(t, ann, "a")
	abandoned.Key += "abandoned"
	held.Lease, abandoned.Lease = 3*time.Second, 3*time.Second
	granted(t, e, held)
	if _, err := e.Abandon(t.Context(), abandoned); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{held.Key, abandoned.Key} {
		if !exists(t, conn, e.Path(key)) {
			t.Fatalf("%s has no node: the machine is too slow, or it was not written", key)
		}
	}
	for _, key := range []string{held.Key, abandoned.Key} {
		eventually(t, "the node of "+key+" is removed", func() bool { return !exists(t, conn, e.Path(key)) })
	}
	time.Sleep(3 * time.Second)
	if exists(t, conn, e.Path(held.Key)) {
		t.Error("the removed node was created again")
	}
}

func TestASweepRemovesTheDocumentsOfEndedProcesses(t *testing.T) {
	t.Parallel()
	ended, conn := open(t, server(t).URL()), connect(t, server(t).Addr())
	r, kept := request(t, ann, "a"), request(t, ann, "a")
	r.Lease, kept.Key = time.Second, kept.Key+"kept"
	granted(t, ended, r)
	granted(t, ended, kept)
	if err := ended.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	e := open(t, server(t).URL())
	eventually(t, "the node of an ended process is removed", func() bool {
		e.Sweep() // does nothing while another engine sweeps
		return !exists(t, conn, e.Path(r.Key))
	})
	if !exists(t, conn, e.Path(kept.Key)) {
		t.Error("a held lock was removed")
	}
}

func TestAForeignNodeIsNotChanged(t *testing.T) {
	t.Parallel()
	e, conn := open(t, server(t).URL()), connect(t, server(t).Addr())
	r := request(t, ann, "a")
	granted(t, e, r) // creates the bucket
	released(t, e, r, engine.Released)
	for _, c := range []struct {
		data string
		want error
		text string
	}{
		{"something else", engine.ErrKind, "not one of this engine"},
		{`{"v":0}`, engine.ErrKind, "not one of this engine"},
		{`{"v":99,"s":{},"c":[]}`, nil, "update the program"},
	} {
		if _, err := conn.Create(e.Path(r.Key), []byte(c.data), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		_, err := e.Acquire(t.Context(), r)
		if err == nil || engine.Temporary(err) || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("a node with %s: %v, want an error that says %q", c.data, err, c.text)
		}
		if _, err := e.ForceRelease(t.Context(), r.Key); err == nil {
			t.Errorf("a node with %s was released by force", c.data)
		}
		if data, _, err := conn.Get(e.Path(r.Key)); err != nil || string(data) != c.data {
			t.Errorf("the node has %q, %v; want %q", data, err, c.data)
		}
		if err := conn.Delete(e.Path(r.Key), -1); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADocumentThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	e := open(t, server(t).URL())
	first := request(t, ann, "a")
	first.Kind = engine.Fair
	g := granted(t, e, first)
	var err error
	for i := 0; i < 20 && err == nil; i++ {
		r := request(t, fmt.Sprint(i, strings.Repeat("x", 100_000)), "a")
		r.Kind, r.QueueLease = engine.Fair, time.Minute
		_, err = e.Acquire(t.Context(), r)
		var busy *engine.BusyError
		if errors.As(err, &busy) {
			err = nil
		}
	}
	if !errors.Is(err, engine.ErrFull) {
		t.Errorf("a queue beyond the size of a node: %v, want %v", err, engine.ErrFull)
	}
	first.Retry = true
	if again := granted(t, e, first); again.Fence != g.Fence {
		t.Errorf("the fence went from %d to %d", g.Fence, again.Fence)
	}
	released(t, e, first, engine.Released)
}

// A transaction has the key many times.
func TestTheLongestKey(t *testing.T) {
	t.Parallel()
	e := open(t, server(t).URL())
	longest := key(t)
	longest += strings.Repeat("锁", (4096-len(longest))/3)
	holder := request(t, ann, "a")
	holder.Key, holder.Kind, holder.Lease = longest, engine.Fair, time.Minute
	granted(t, e, holder)
	for i := range 20 { // their positions expire, so a release notifies all of them
		r := request(t, fmt.Sprint("holder:", i), "a")
		r.Key, r.Kind, r.QueueLease = longest, engine.Fair, 2*time.Second
		busy(t, e, r)
	}
	last := request(t, bob, "b")
	last.Key, last.Kind, last.QueueLease = longest, engine.Fair, time.Minute
	busy(t, e, last)
	wake, stop := e.Notify(last)
	defer stop()
	awaitWake(t, wake)
	time.Sleep(2 * time.Second)
	released(t, e, holder, engine.Released)
	awaitWake(t, wake)
	eventually(t, "the last waiter is granted", func() bool {
		_, err := e.Acquire(t.Context(), last)
		return err == nil
	})
	holder.Key += "锁"
	if _, err := e.Acquire(t.Context(), holder); err == nil || engine.Temporary(err) || !strings.Contains(err.Error(), "use 1 to 4096") {
		t.Errorf("a longer key: %v, want an error that is not temporary", err)
	}
}

func TestALargeResultIsStoredAndDeletedWithItsRecord(t *testing.T) {
	t.Parallel()
	e, conn := open(t, server(t).URL()), connect(t, server(t).Addr())
	l := e.Capabilities().Ledger
	result := bytes.Repeat([]byte("0123456789abcdef"), 100_000) // 1.6 MB
	c := engine.Claim{Key: key(t), Attempt: "a", Lease: time.Minute, Retain: time.Hour}
	if r, err := l.Claim(t.Context(), c); err != nil || !r.Granted {
		t.Fatalf("claim: %+v, %v", r, err)
	}
	settle := engine.Settlement{Key: c.Key, Attempt: "a", Outcome: engine.Done, Result: result, Retain: time.Hour}
	for range 2 {
		if o, err := l.Settle(t.Context(), settle); err != nil || o != engine.Released {
			t.Fatalf("settle: %v, %v", o, err)
		}
	}
	if r, err := l.Lookup(t.Context(), c.Key); err != nil || !bytes.Equal(r.Result, result) {
		t.Fatalf("lookup: %d bytes, %v; want %d", len(r.Result), err, len(result))
	}
	e.Sweep()
	if n := results(t, conn, c.Key); n != 4 {
		t.Errorf("the result has %d nodes, want 4", n)
	}
	if _, err := e.Capabilities().Eraser.Erase(t.Context(), c.Key); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Lookup(t.Context(), c.Key); err != nil || r.State != engine.Absent {
		t.Errorf("after Erase: %+v, %v", r, err)
	}
	eventually(t, "the nodes of the result are deleted", func() bool { return results(t, conn, c.Key) == 0 })
	if o, err := l.Settle(t.Context(), settle); err != nil || o != engine.AlreadyFree {
		t.Errorf("settle without a claim: %v, %v", o, err)
	}
	if n := results(t, conn, c.Key); n != 0 {
		t.Errorf("a result without a record has %d nodes", n)
	}
}

// results returns how many nodes the large result of a record has.
func results(t testing.TB, conn *zk.Conn, key string) (n int) {
	t.Helper()
	all, _, err := conn.Children("/interlock/results")
	if err != nil {
		t.Fatal(err)
	}
	for _, bucket := range all {
		names, _, err := conn.Children("/interlock/results/" + bucket)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasPrefix(name, key+"~") {
				n++
			}
		}
	}
	return n
}

func TestDeletedDirectoriesAreCreatedAgain(t *testing.T) {
	t.Parallel()
	e := open(t, server(t).URL(), zookeeper.Root("/deleted/root"))
	conn := connect(t, server(t).Addr())
	r := request(t, ann, "a")
	granted(t, e, r)
	remove := func(dir string) {
		if err := conn.Delete("/deleted/root/"+dir, -1); err != nil {
			t.Fatal(err)
		}
	}
	remove("wake")
	released(t, e, r, engine.Released)
	granted(t, e, r)
	remove("clock")
	busy(t, e, request(t, bob, "b"))
}

// Of many waiters, a release wakes only the next one.
func TestAReleaseWakesOnlyTheNextWaiter(t *testing.T) {
	t.Parallel()
	e := open(t, server(t).URL())
	r := request(t, ann, "a")
	r.Kind = engine.Fair
	granted(t, e, r)
	var wakes []<-chan struct{}
	for i := range 10 {
		w := request(t, fmt.Sprint("holder:", i), "w")
		w.Kind, w.QueueLease = engine.Fair, time.Minute
		busy(t, e, w)
		wake, stop := e.Notify(w)
		defer stop()
		awaitWake(t, wake)
		wakes = append(wakes, wake)
	}
	released(t, e, r, engine.Released)
	awaitWake(t, wakes[0])
	time.Sleep(300 * time.Millisecond)
	for i, wake := range wakes {
		select {
		case <-wake:
			t.Errorf("waiter %d was woken as well", i)
		default:
		}
	}
}
