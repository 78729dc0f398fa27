package admin_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway/admin"
)

// Requirement T12: the ten longest holds.
func TestTop(t *testing.T) {
	w := open(t)
	client := w.client.With(interlock.WithName("pay"))
	for i := range 12 {
		_, hold, err := client.Mutex(fmt.Sprint("ended:", i)).Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = hold.Unlock()
	}
	for i := range 12 { // the first is held longest
		w.lock(client.Mutex(fmt.Sprint("order:", i)))
		time.Sleep(time.Millisecond) // fences are microseconds
	}
	for range 3 {
		_, _, _ = client.Mutex("order:7").TryLock(t.Context())
	}
	var lock admin.LockDetail
	w.get(pathOf("locks", "order:7")).into(&lock)
	var top admin.Top
	w.get("/api/v1/top").into(&top)
	if len(top.Now) != 10 || !top.Complete {
		t.Fatalf("now has %d locks, complete %v, want the ten longest of all", len(top.Now), top.Complete)
	}
	for i, l := range top.Now {
		if l.Key != fmt.Sprint("order:", i) || l.Since.IsZero() || len(l.Holders) != 1 {
			t.Errorf("lock %d is %+v, want order:%d and since when it is held", i, l, i)
		}
	}
	if len(top.LastHour) != 10 || top.LastHour[0].Name != "pay" || top.LastHour[0].Owner == "" || top.LastHour[0].Since.IsZero() {
		t.Errorf("the last hour has %+v, want ten holds of pay", top.LastHour)
	}
	if len(top.Contended) != 1 || top.Contended[0].Key != "order:7" || top.Contended[0].Callers != 3 || top.Contended[0].Since == nil ||
		top.Contended[0].Owner != lock.Holders[0].Owner {
		t.Errorf("contended is %+v, want order:7 with 3 callers and the owner %s", top.Contended, lock.Holders[0].Owner)
	}
}
