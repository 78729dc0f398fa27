package zookeeper_test

import (
	"testing"
	"time"

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
	e, p := proxied(t, server(t), zookeeper.Timeout(5*time.Second), zookeeper.Session(longSession))
	p.Delay(faultnet.Replies, 700*time.Millisecond) // all buckets are eight groups
	if _, next, err := e.List(t.Context(), "*", ""); err != nil || next == "" {
		t.Errorf("the first page ends with the cursor %q, %v; want a cursor", next, err)
	}
}
