package redisengine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// cat is a third holder.
const cat = "ca700000-0000-4000-8000-00000000000c:1"

// requestKind returns a request for another kind of lock, with one permit.
func requestKind(t testing.TB, k engine.Kind, holder, attempt string) engine.Request {
	t.Helper()
	r := request(t, holder, attempt)
	r.Kind, r.Limit = k, 1
	return r
}

func queued(r engine.Request, d time.Duration) engine.Request { r.QueueLease = d; return r }

// numberedHolder returns the i-th of many holders.
func numberedHolder(i int) string { return fmt.Sprintf("50e00000-0000-4000-8000-%012d:%d", i, i) }

// relatedKey returns a key that belongs to the lock of this test.
func relatedKey(t testing.TB, prefix string) string {
	t.Helper()
	return prefix + "{" + key(t) + "}"
}

// wantKeys checks which keys the lock of this test has, with $ for its name, and that all
// of them expire.
func wantKeys(t testing.TB, s *redistest.Server, want ...string) {
	t.Helper()
	var names []string
	for name := range strings.SplitSeq(s.Must("KEYS", "*"+key(t)+"*"), "\n") {
		if name != "" {
			names = append(names, name)
		}
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "$", key(t))
	}
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("the keys are %q, want %q", names, want)
	}
	for _, name := range names {
		if s.Must("PTTL", name) == "-1" {
			t.Errorf("%s has no expiry", name)
		}
	}
}

// wantScoreAhead checks that score, a Unix time in ms, is about d ahead of the server's clock.
func wantScoreAhead(t testing.TB, s *redistest.Server, score string, d time.Duration) {
	t.Helper()
	var ms, sec, micro int64
	fmt.Sscan(score, &ms)
	fmt.Sscan(s.Must("TIME"), &sec, &micro)
	if left := ms - sec*1000 - micro/1000; left > d.Milliseconds() || left < d.Milliseconds()*2/3 {
		t.Errorf("the score %s is %d ms ahead, want about %d", score, left, d.Milliseconds())
	}
}

// grantedWithin checks that r is granted within so many tries, and that each refusal before
// that asks for a retry at once.
func grantedWithin(t testing.TB, e *redisengine.Engine, r engine.Request, tries int) {
	t.Helper()
	for i := range tries {
		g, err := e.Acquire(t.Context(), r)
		if err == nil && g.Fence > 0 {
			return
		}
		var b *engine.BusyError
		if !errors.As(err, &b) || b.Left > time.Millisecond {
			t.Fatalf("try %d: %v, want a grant, or a refusal with at most 1ms left", i, err)
		}
	}
	t.Fatalf("not granted in %d tries", tries)
}
