// Package enginetest is the test that every Interlock engine passes: the laws,
// as sentences, and [Faulty], the engine that fails on purpose.
//
//	func TestLaws(t *testing.T) {
//		enginetest.Run(t, enginetest.Harness{
//			Name: "memory",
//			Open: func(testing.TB) engine.Engine { return memory.New() },
//			Virtual: true,
//		})
//	}
//
// An engine has no other tests of what a lock means. What it cannot do it
// declares, by a capability that is nil, and the law is skipped by name.
package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A Harness tells how an engine is to be tested.
type Harness struct {
	// Name is what the engine is called in the summary.
	Name string

	// Open returns the engine for one law. It may be the same one each time;
	// every law has keys of its own. What it starts it ends in t.Cleanup.
	Open func(t testing.TB) engine.Engine

	// Clocked returns an engine with a Step that sets its clock, for the laws that
	// need one if what Open returns has none. It may be the same one each time:
	// such laws are tried one after the other.
	Clocked func(t testing.TB) engine.Engine

	// Virtual says that the engine keeps to this process, so that each law can
	// run in a synctest bubble, in no time.
	Virtual bool

	// Lease is how long the locks in the laws last. The default is 3 s if time
	// is virtual, and 600 ms if it is not: long enough for a busy machine.
	Lease time.Duration
}

// A Law is something that is true of every engine.
type Law struct {
	// Topic is what the law is about, in a word.
	Topic string

	// Sentence is the law itself, and the name of its test.
	Sentence string

	hold func(b *bench)
}

// Laws returns all laws, by topic.
func Laws() []Law {
	return slices.Concat(grantLaws, attemptLaws, leaseLaws, renewLaws, releaseLaws, abandonLaws,
		fenceLaws, ownerLaws, raceLaws, notifyLaws, contextLaws, inputLaws, fairLaws, placeLaws,
		clockLaws, rwLaws, readerLaws, permitLaws, latchLaws, meetLaws, operatorLaws, seizeLaws,
		memberLaws, fencerLaws, memoryLaws, noteLaws, healthLaws, faultyLaws,
		claimLaws, fingerprintLaws, unknownLaws, takeLaws, renewalLaws, settleLaws, outcomeLaws,
		disclaimLaws, recordLaws, eraseLaws, watchLaws, ledgerLaws, ledgerInputLaws, ledgerFaultyLaws)
}

// Run checks every law, each in a subtest named by its sentence. If all hold it
// prints one line that says so.
func Run(t *testing.T, h Harness) {
	var tally tally
	t.Cleanup(func() {
		if !t.Failed() {
			fmt.Println(tally.line(h.Name))
		}
	})
	for _, l := range Laws() {
		t.Run(l.Sentence, func(t *testing.T) {
			if !h.Virtual {
				t.Parallel()
			}
			r := h.try(t, l)
			for _, complaint := range r.broken {
				t.Error(complaint)
			}
			tally.add(l, r)
			if r.skipped != "" {
				t.Skip(r.skipped)
			}
		})
	}
}

// Broken returns the laws that an engine breaks, by sentence, with what was found
// wrong. It is for tests that expect it: t does not fail.
func Broken(t *testing.T, h Harness) map[string][]string {
	broken := make(map[string][]string)
	for _, l := range Laws() {
		t.Run(l.Sentence, func(t *testing.T) {
			if r := h.try(t, l); len(r.broken) > 0 {
				broken[l.Sentence] = r.broken
			}
		})
	}
	return broken
}

// A tally counts what became of the laws.
type tally struct {
	mu      sync.Mutex
	held    int
	skipped []string
}

func (t *tally) add(l Law, r *record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.skipped != "" {
		t.skipped = append(t.skipped, l.Sentence)
	} else if len(r.broken) == 0 {
		t.held++
	}
}

func (t *tally) line(name string) string {
	line := fmt.Sprintf("laws: %d held on %s", t.held, name)
	if len(t.skipped) > 0 {
		slices.Sort(t.skipped)
		line += fmt.Sprintf(", %d skipped: %s", len(t.skipped), strings.Join(t.skipped, "; "))
	}
	return line
}
