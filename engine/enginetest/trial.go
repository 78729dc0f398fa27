package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// trials is how many times a law is run at most. It is run again if it fails and the machine
// was too slow for a verdict. Each trial doubles the leases and the limit. In virtual time
// there is one trial.
const trials = 4

// limit plus four leases is the timeout of a law in its first trial.
const limit = 20 * time.Second

// A record is the result of a trial.
type record struct {
	mu      sync.Mutex
	broken  []string // failures, each with the law's sentence
	skipped string   // why the law does not apply
	slow    bool     // it took so long that a lease may have expired early
}

// try checks a law.
func (h Harness) try(t *testing.T, l Law) *record {
	if h.Virtual {
		return h.tryVirtual(t, l)
	}
	for n := 0; ; n++ {
		r := h.tryOnce(t, l, h.lease()<<n, limit<<n)
		if len(r.broken) == 0 || !r.slow || n == trials-1 {
			return r
		}
		t.Logf("the machine was too slow for a verdict, trying again: %s", r.broken)
	}
}

// tryVirtual checks a law in a bubble. A deadlock panics, which is a failure.
func (h Harness) tryVirtual(t *testing.T, l Law) (r *record) {
	defer func() {
		if p := recover(); p != nil {
			r = new(record)
			r.addFailure(l, "%v", p)
		}
	}()
	synctest.Test(t, func(t *testing.T) { r = h.tryOnce(t, l, h.lease(), limit) })
	return r
}

// tryOnce checks a law on the engine of Open. If the law needs a clock that can be stepped
// and this engine has none, tryOnce checks the law on the engine of Clocked.
func (h Harness) tryOnce(t testing.TB, l Law, lease, limit time.Duration) *record {
	r := tryOn(h.Open(t), l, lease, limit)
	if r.skipped != noClock || h.Clocked == nil {
		return r
	}
	oneClock.Lock()
	defer oneClock.Unlock()
	return tryOn(h.Clocked(t), l, lease, limit)
}

// oneClock is held by the law that moves the clock of a harness.
var oneClock sync.Mutex

// tryOn checks a law on an engine. The law runs in a goroutine that fatalf and skip can end.
func tryOn(e engine.Engine, l Law, lease, limit time.Duration) *record {
	r := new(record)
	ctx, cancel := context.WithTimeout(context.Background(), limit+4*lease)
	defer cancel()
	b := &testbed{Engine: e, Lease: lease, ctx: ctx, law: l, record: r,
		prefix: fmt.Sprintf("law:%08x:", rand.Uint32())}
	start, done := time.Now(), make(chan struct{})
	go func() {
		defer close(done)
		defer b.recover()
		l.check(b)
	}()
	<-done
	// A failure proves nothing if the law ran at least a tenth of a lease longer than it
	// slept: a lease may have expired early, or a quorum may have stopped waiting for a
	// node, which it does after a tenth. Nor does a failure after the timeout.
	r.slow = time.Since(start)-b.slept >= lease/10 || ctx.Err() != nil
	return r
}

func (h Harness) lease() time.Duration {
	switch {
	case h.Lease > 0:
		return h.Lease
	case h.Virtual:
		return 3 * time.Second
	}
	return 600 * time.Millisecond
}

func (r *record) addFailure(l Law, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = append(r.broken, fmt.Sprintf("broken: %q: ", l.Sentence)+fmt.Sprintf(format, args...))
}
