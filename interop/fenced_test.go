package interop

import (
	"strconv"
	"testing"

	"github.com/interlock-go/interlock"
)

// TestFences acquires a fenced lock in Go and Java alternately. The fences of both
// languages rise, so a store can compare them.
func TestFences(t *testing.T) {
	f := newFixture(t, interlock.DefaultLease)
	const rounds = 50
	l := f.newLock("fenced")
	var last uint64
	wantHigher := func(language string, fence uint64) {
		t.Helper()
		if fence <= last {
			t.Fatalf("%s got fence %d after %d, want a higher one", language, fence, last)
		}
		last = fence
	}
	g, j := f.goActor().(*goActor), f.javaActor().(*javaActor)
	for range rounds {
		f.must(g.lock(l))
		wantHigher("Go", g.held[l].Fence())
		f.must(g.unlock(l))
		text, err := j.java.ask(j.name, "token", l.key)
		f.must(err)
		token, err := strconv.ParseUint(text, 10, 64)
		f.must(err)
		wantHigher("Java", token)
		f.must(j.unlock(l))
	}
	if left := f.server.Must("PTTL", "redisson_lock_token:{"+l.key+"}"); left != "-1" {
		t.Errorf("the fence counter expires in %sms; then Redisson's fences would start again", left)
	}
	table.record("fences rise", goToJava, "%d times", rounds)
	table.record("fences rise", javaToGo, "%d times", rounds-1)
}
