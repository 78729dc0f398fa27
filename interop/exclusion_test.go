package interop

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock"
)

// TestExclusion has threads of both languages add to one text by reading it and
// writing it back. If two were ever in at once, a letter would be lost (T1, T2).
func TestExclusion(t *testing.T) {
	s := newScene(t, interlock.DefaultLease)
	const each = 3 // threads of each language
	rounds := 500
	if testing.Short() {
		rounds = 100
	}
	for _, kind := range []string{"exclusive", "fair", "fenced", "write"} {
		t.Run(kind, func(t *testing.T) {
			s := s.in(t)
			l := s.fresh(kind)
			text := s.contend(l, each, rounds)
			if want := 2 * each * rounds; len(text) != want {
				t.Errorf("%d letters were written one at a time, %d are there: %s", want, len(text), text)
			}
			row := "mutual exclusion, " + kind
			for column, pair := range map[string]string{goToJava: "GJ", javaToGo: "JG"} {
				n := strings.Count(text, pair)
				if n == 0 {
					t.Errorf("the lock never went %s: %s", column, text)
				}
				table.note(row, column, "%d turns, none lost; %d times over", len(text)/2, n)
			}
		})
	}
}

// contend returns the text that threads of both languages have written, each so
// many letters of its own.
func (s *scene) contend(l lock, each, rounds int) string {
	s.t.Helper()
	text := "text:" + l.key
	var all []party
	for range each {
		all = append(all, s.golang(), s.java())
	}
	for _, p := range all { // Java takes a while until it is up to speed
		s.must(p.write(s.fresh(l.kind), "text", 5))
	}
	var wg sync.WaitGroup
	errs := make(chan error, len(all))
	for _, p := range all {
		wg.Go(func() { errs <- p.write(l, text, rounds) })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		s.must(err)
	}
	got := s.server.Must("GET", text)
	if g, j := strings.Count(got, "G"), strings.Count(got, "J"); g != each*rounds || j != each*rounds {
		s.t.Error(fmt.Errorf("%d letters of Go and %d of Java, not %d of each", g, j, each*rounds))
	}
	return got
}
