package admin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/gateway/admin"
)

// An operator finds a leaked lock, and releases it. That is a part of requirement T13, on
// emergencies.
func TestLocks(t *testing.T) {
	t.Run("a held lock is listed with its holder", func(t *testing.T) {
		w := open(t)
		hold := w.lock(w.client.Mutex("order:42"))
		w.lock(w.client.RWMutex("stock:1").Read())
		w.registered("order:42")
		var list admin.Locks
		w.get("/api/v1/locks?pattern=order:*").into(&list)
		if len(list.Locks) != 1 || list.Next != "" {
			t.Fatalf("the list is %+v, want order:42 only", list)
		}
		l := list.Locks[0]
		if l.Key != "order:42" || l.Kind != "exclusive" || len(l.Holders) != 1 {
			t.Fatalf("the lock is %+v, want order:42, exclusive, with one holder", l)
		}
		h := l.Holders[0]
		if h.Fence != hold.Fence() || h.Count != 1 || h.TTLMS <= 0 || h.TTLMS > 30_000 || h.Client == nil || h.Client.Name != "shop" || h.Client.PID == 0 {
			t.Errorf("the holder is %+v, want fence %d, count 1, at most 30s left, and the client shop", h, hold.Fence())
		}
		if h.Owner == "" || h.Owner == hold.Holder() {
			t.Errorf("the owner is %q, want a hash", h.Owner)
		}
	})
	t.Run("waiters are listed in order", func(t *testing.T) {
		w := open(t)
		w.lock(w.client.Mutex("fair", interlock.Fair()))
		for range 3 {
			go func() { _, _, _ = w.client.Mutex("fair", interlock.Fair()).Lock(t.Context()) }()
		}
		var l admin.LockDetail
		for range 200 {
			if w.get(pathOf("locks", "fair")).into(&l); len(l.Queue) == 3 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if l.Waiters != 3 || len(l.Queue) != 3 || l.Queue[0].Owner == l.Queue[1].Owner || l.Queue[0].TTLMS <= 0 {
			t.Errorf("the lock is %+v, want 3 different waiters with a time left", l)
		}
	})
	t.Run("a thousand locks are all listed, a page at a time", func(t *testing.T) {
		w := open(t)
		const many = 1000
		for i := range many {
			w.lock(w.client.Mutex(fmt.Sprint("n:", i)))
		}
		seen, pages := map[string]bool{}, 0
		for cursor := ""; ; pages++ {
			var list admin.Locks
			w.get("/api/v1/locks?limit=50&cursor=" + cursor).into(&list)
			for _, l := range list.Locks {
				seen[l.Key] = true
			}
			if cursor = list.Next; cursor == "" {
				break
			}
		}
		if len(seen) != many || pages < 3 {
			t.Errorf("%d of %d locks are listed on %d pages, want all on at least 4", len(seen), many, pages+1)
		}
	})
	t.Run("a released lock cancels its holder", func(t *testing.T) {
		w := open(t)
		ctx, hold, err := w.client.Mutex("order:42").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var before admin.LockDetail
		w.post(pathOf("locks", "order:42")+"/release", reasonBody).into(&before)
		if len(before.Holders) != 1 || before.Holders[0].Fence != hold.Fence() {
			t.Errorf("the release returns %+v, want the lock with its former holder", before)
		}
		<-ctx.Done()
		if err := hold.Unlock(); !errors.Is(err, interlock.ErrLost) {
			t.Errorf("Unlock() = %v, want ErrLost", err)
		}
		w.lock(w.client.Mutex("order:42", interlock.Wait(0)))
	})
	t.Run("all locks that match a pattern are released, if their number is confirmed", func(t *testing.T) {
		w := open(t)
		for _, key := range []string{"a:1", "a:2", "b:1"} {
			w.lock(w.client.Mutex(key))
		}
		p := w.post("/api/v1/locks/release-all", map[string]any{"pattern": "a:*", "confirm": 3, "reason": "x"}).problem(409, admin.Conflict)
		if want := "2 locks match"; !strings.HasPrefix(p.Detail, want) {
			t.Errorf("the detail is %q, want %q at its start", p.Detail, want)
		}
		var out admin.Released
		w.post("/api/v1/locks/release-all", map[string]any{"pattern": "a:*", "confirm": 2, "reason": "x"}).into(&out)
		if out.Released != 2 || len(out.Failed) != 0 {
			t.Errorf("the result is %+v, want 2 released and none failed", out)
		}
		var list admin.Locks
		if w.get("/api/v1/locks").into(&list); len(list.Locks) != 1 || list.Locks[0].Key != "b:1" {
			t.Errorf("the remaining locks are %+v, want b:1 only", list)
		}
	})
	t.Run("keys are listed without the namespace, and keys of other namespaces are not", func(t *testing.T) {
		e := memory.New()
		ours := interlock.New(e, interlock.Prefix("shop*:"))
		w := open(t, func(o *admin.Options) { o.Engine, o.Client = e, ours })
		w.lock(ours.Mutex("order:1"))
		others := interlock.New(e, interlock.Prefix("shopping:"))
		_, hold, err := others.Mutex("order:2").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer others.Close(t.Context())
		defer hold.Unlock()
		var list admin.Locks
		if w.get("/api/v1/locks").into(&list); len(list.Locks) != 1 || list.Locks[0].Key != "order:1" {
			t.Errorf("the list is %+v, want order:1 only", list)
		}
		var l admin.LockDetail
		if w.get(pathOf("locks", "order:1")).into(&l); len(l.Holders) != 1 {
			t.Errorf("the lock is %+v, want one holder", l)
		}
	})
	t.Run("invalid requests are problems", func(t *testing.T) {
		w := open(t)
		if _, err := w.client.Latch("latch", 1).CountDown(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.get(pathOf("locks", "latch")).problem(409, admin.NotALock)
		w.post(pathOf("locks", "latch")+"/release", reasonBody).problem(409, admin.NotALock)
		w.get(pathOf("locks", "a{")).problem(400, admin.KeyInvalid)
		w.get("/api/v1/locks/%ff").problem(400, admin.KeyInvalid)
		w.get("/api/v1/locks/!!!?encoding=base64url").problem(400, admin.KeyInvalid)
		w.get("/api/v1/locks?cursor=nonsense").problem(422, admin.Invalid)
		w.get("/api/v1/locks?limit=0").problem(422, admin.Invalid)
		w.post(pathOf("locks", "x")+"/release", map[string]any{}).problem(422, admin.Invalid)
		w.post(pathOf("locks", "x")+"/release", map[string]any{"reason": ""}).problem(422, admin.Invalid)
		w.post(pathOf("locks", "x")+"/release", map[string]any{"reason": "x", "resaon": "x"}).problem(422, admin.Invalid)
		w.post("/api/v1/locks/release-all", map[string]any{"reason": "x", "confirm": 0}).problem(422, admin.Invalid)
		w.get("/api/v1/nothing").problem(404, admin.NotFound)
		w.call("DELETE", "/api/v1/locks", nil).problem(405, admin.MethodNotAllowed)
	})
}

// registered waits until the client that holds key is known to the engine: a client
// registers in the background.
func (w *fixture) registered(key string) {
	w.t.Helper()
	for range 2000 {
		info, err := w.client.Inspect(w.t.Context(), key)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(info.Holders) > 0 && info.Holders[0].Client != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("the holder of %q did not register", key)
}
