// Package enginetest tests engines. It has the laws that every engine must obey, and
// [Faulty], an engine that fails on command.
//
//	func TestLaws(t *testing.T) {
//		enginetest.Run(t, enginetest.Harness{
//			Name: "memory",
//			Open: func(testing.TB) engine.Engine { return memory.New() },
//			Virtual: true,
//		})
//	}
//
// Engines have no other semantic tests. A law about a capability that the engine lacks
// is skipped, and the summary names it.
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

// A Harness says how to test an engine.
type Harness struct {
	// Name is the name of the engine in the summary.
	Name string

	// Open returns the engine for one law. It may return the same one each time:
	// every law has its own keys. It releases its resources in t.Cleanup.
	Open func(t testing.TB) engine.Engine

	// Clocked returns an engine with a Step method that moves its clock. Laws about
	// clocks use it if the engine of Open has no Step. It may return the same engine
	// each time: such laws run one after the other.
	Clocked func(t testing.TB) engine.Engine

	// Virtual means that the engine lives in this process, so that each law can run
	// in virtual time, in a synctest bubble.
	Virtual bool

	// Lease is the lease of the locks in the laws. Default: 3s in virtual time and
	// 600ms in real time, which is long enough for a busy machine.
	Lease time.Duration
}

// A Law holds for every engine.
type Law struct {
	// Topic is the topic of the law, in one word.
	Topic string

	// Sentence states the law, and names its test.
	Sentence string

	check func(b *testbed)
}

// Laws returns all laws, by topic.
func Laws() []Law {
	return slices.Concat(grantLaws, attemptLaws, leaseLaws, renewLaws, releaseLaws, abandonLaws,
		fenceLaws, ownerLaws, raceLaws, notifyLaws, contextLaws, inputLaws, fairLaws, positionLaws,
		clockLaws, rwLaws, readerLaws, permitLaws, latchLaws, kindLaws, operatorLaws, forceReleaseLaws,
		memberLaws, fencerLaws, incarnationLaws, noteLaws, healthLaws, faultyLaws,
		claimLaws, fingerprintLaws, unknownLaws, takeoverLaws, renewalLaws, settleLaws, outcomeLaws,
		abandonClaimLaws, recordLaws, eraseLaws, watchLaws, ledgerLaws, ledgerInputLaws, ledgerFaultyLaws, quotaLaws)
}

// Run checks every law in a subtest of that name. If all hold it prints a summary.
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
			for _, failure := range r.broken {
				t.Error(failure)
			}
			tally.add(l, r)
			if r.skipped != "" {
				t.Skip(r.skipped)
			}
		})
	}
}

// Broken returns the laws that an engine breaks, with their failures, by sentence. t
// does not fail: it is for tests that expect failures.
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

// A tally counts the results of the laws.
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
