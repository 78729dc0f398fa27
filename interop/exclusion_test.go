package interop

import (
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock"
)

// TestExclusion has threads of both languages append letters to a text by reading it and
// writing it back. If two threads held the lock at once, a letter would be lost (T1, T2).
func TestExclusion(t *testing.T) {
	f := newFixture(t, interlock.DefaultLease)
	const each = 3 // threads of each language
	rounds := 500
	if testing.Short() {
		rounds = 100
	}
	f.excludes("mutual exclusion", each, rounds)
}

// excludes checks for every kind that no letter of a text is lost.
func (f *fixture) excludes(where string, each, rounds int) {
	for _, kind := range []string{"exclusive", "fair", "fenced", "write", "multi"} {
		row := where + ", " + kind
		if where != "mutual exclusion" {
			row = where + ", mutual exclusion, " + kind
		}
		f.t.Run(row, func(t *testing.T) {
			f := f.withT(t)
			l := f.newLock(kind)
			text := f.contend(l, each, rounds)
			if want := 2 * each * rounds; len(text) != want {
				t.Errorf("%d letters were written, but the text has %d: %s", want, len(text), text)
			}
			for column, pair := range map[string]string{goToJava: "GJ", javaToGo: "JG"} {
				n := strings.Count(text, pair)
				if n == 0 && kind == "fair" {
					t.Errorf("the lock never passed from one language to the other (%s): %s", column, text)
				}
				table.record(row, column, "%d holds, none lost; passed %d times", len(text)/2, n)
			}
		})
	}
}

// contend runs threads of both languages, each of which appends its letter rounds times.
// It returns the text.
func (f *fixture) contend(l lock, each, rounds int) string {
	f.t.Helper()
	text := "text:" + l.key
	var all []actor
	for range each {
		all = append(all, f.goActor(), f.javaActor())
	}
	for _, a := range all { // warm up the JVM
		f.must(a.write(f.newLock(l.kind), "text", 5))
	}
	var wg sync.WaitGroup
	errs := make(chan error, len(all))
	for _, a := range all {
		wg.Go(func() { errs <- a.write(l, text, rounds) })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		f.must(err)
	}
	got := f.home(f.servers.prefix+text).Must("GET", f.servers.prefix+text)
	if g, j := strings.Count(got, "G"), strings.Count(got, "J"); g != each*rounds || j != each*rounds {
		f.t.Errorf("%d letters of Go and %d of Java, want %d of each", g, j, each*rounds)
	}
	return got
}
