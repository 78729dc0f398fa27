package interop

import (
	"strconv"
	"testing"

	"github.com/interlock-go/interlock"
)

// TestFences takes a fenced lock by turns. A store that refuses what is lower than
// it has seen must be content with both.
func TestFences(t *testing.T) {
	s := newScene(t, interlock.DefaultLease)
	const rounds = 50
	l := s.fresh("fenced")
	var last uint64
	rises := func(who string, fence uint64) {
		t.Helper()
		if fence <= last {
			t.Fatalf("%s got fence %d after %d", who, fence, last)
		}
		last = fence
	}
	g, j := s.golang().(*gopher), s.java().(*thread)
	for range rounds {
		s.must(g.lock(l))
		rises("Go", g.held[l].Fence())
		s.must(g.unlock(l))
		text, err := j.java.ask(j.name, "token", l.key)
		s.must(err)
		token, err := strconv.ParseUint(text, 10, 64)
		s.must(err)
		rises("Java", token)
		s.must(j.unlock(l))
	}
	if left := s.server.Must("PTTL", "redisson_lock_token:{"+l.key+"}"); left != "-1" {
		t.Errorf("the counter ends in %s ms, and Redisson's would begin again", left)
	}
	table.note("fences rise", goToJava, "%d times", rounds)
	table.note("fences rise", javaToGo, "%d times", rounds-1)
}
