package zookeeper_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// A page must end within the timeout of a call, also among many documents. The test is not
// parallel, because of the load.
func TestAPageReadsFewOfManyDocuments(t *testing.T) {
	const documents = 2000
	e := open(t, server(t).URL(), zookeeper.Root("/"+key(t)))
	claims(t, e, documents, time.Hour)
	calls := observe(t, e)
	seen := make(map[string]bool)
	for cursor, before := "", 0; ; {
		records, next, err := e.Capabilities().Ledger.List(t.Context(), "*", cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			seen[r.Key] = true
		}
		all := calls()
		if reads := count(all[before:], "read"); reads > 350 {
			t.Errorf("a page with %d records read %d documents, want at most 350", len(records), reads)
		}
		if before, cursor = len(all), next; next == "" {
			break
		}
	}
	if len(seen) != documents {
		t.Errorf("the pages have %d records, want %d", len(seen), documents)
	}
}

func TestASlowPageEndsEarly(t *testing.T) {
	t.Parallel()
	e, p := proxied(t, server(t), zookeeper.Root("/"+key(t)), zookeeper.Session(longSession))
	p.Delay(faultnet.Replies, testTimeout/15) // the clock and eight groups of buckets take at least nine
	if _, next, err := e.List(t.Context(), "*", ""); err != nil || next == "" {
		t.Errorf("the first page ends with the cursor %q, %v; want a cursor", next, err)
	}
}

// A page keeps what was read before the connection was lost.
func TestAPageEndsBeforeABucketThatCannotBeRead(t *testing.T) {
	t.Parallel()
	e, p := proxied(t, server(t), zookeeper.Root("/"+key(t)), zookeeper.Session(longSession))
	granted(t, e, request(t, ann, "a"))
	var lists atomic.Int32
	stop := e.Capabilities().Observe(func(c engine.ServerCall) {
		if c.Operation == "list" && lists.Add(1) == 1 { // the first group is one bucket
			p.Refuse(true)
			p.Reset()
		}
	})
	locks, cursor, err := e.List(t.Context(), "*", "")
	stop()
	if err != nil || cursor != "1" {
		t.Fatalf("the page ends with the cursor %q, %v; want 1, because the second bucket cannot be read", cursor, err)
	}
	if _, _, err := e.List(t.Context(), "*", cursor); !engine.Temporary(err) {
		t.Errorf("the next page: %v, want a temporary error", err)
	}
	p.Refuse(false)
	eventually(t, "the other pages are read", func() bool {
		more, next, err := e.List(t.Context(), "*", cursor)
		if err != nil {
			return false
		}
		locks, cursor = append(locks, more...), next
		return next == ""
	})
	if len(locks) != 1 {
		t.Errorf("the pages have the locks %+v, want one", locks)
	}
}
