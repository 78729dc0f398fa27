package interop

import (
	"strconv"
	"testing"

	"github.com/interlock-go/interlock"
)

// TestFences acquires a fenced lock in Go and Java alternately. The fences of both
// languages rise, so a store can compare them.
func TestFences(t *testing.T) {
	s := newFixture(t, interlock.DefaultLease)
	const rounds = 50
	l := s.newLock("fenced")
	var last uint64
	wantHigher := func(language string, fence uint64) {
		t.Helper()
		if fence <= last {
			t.Fatalf("%s got fence %d after %d", language, fence, last)
		}
		last = fence
	}
	g, j := s.goActor().(*goActor), s.javaActor().(*javaActor)
	for range rounds {
		s.must(g.lock(l))
		wantHigher("Go", g.held[l].Fence())
		s.must(g.unlock(l))
		text, err := j.java.ask(j.name, "token", l.key)
		s.must(err)
		token, err := strconv.ParseUint(text, 10, 64)
		s.must(err)
		wantHigher("Java", token)
		s.must(j.unlock(l))
	}
	if left := s.server.Must("PTTL", "redisson_lock_token:{"+l.key+"}"); left != "-1" {
		t.Errorf("the fence counter expires in %sms; then Redisson's fences would start again", left)
	}
	table.record("fences rise", goToJava, "%d times", rounds)
	table.record("fences rise", javaToGo, "%d times", rounds-1)
}
