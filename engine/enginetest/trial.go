package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// trials is how often a law is tried in real time before it counts as broken,
// if each time the machine was too slow to tell.
const trials = 3

// limit is how long a law may take.
const limit = time.Minute

// A record is what came out of a trial.
type record struct {
	mu      sync.Mutex
	broken  []string // what was found wrong, each with the law's sentence
	skipped string   // why the law does not apply
	slow    bool     // something took so long that a lease may have run out
}

// try finds out whether l holds.
func (h Harness) try(t *testing.T, l Law) *record {
	if h.Virtual {
		return h.tryVirtual(t, l)
	}
	for n := 1; ; n++ {
		r := h.tryOnce(t, l)
		if len(r.broken) == 0 || !r.slow || n == trials {
			return r
		}
		t.Logf("the machine was too slow to tell, trying again: %s", r.broken)
	}
}

// tryVirtual tries l in a bubble. If nothing moves in there any more the bubble
// panics, which is as much a verdict as any.
func (h Harness) tryVirtual(t *testing.T, l Law) (r *record) {
	defer func() {
		if p := recover(); p != nil {
			r = new(record)
			r.complain(l, "%v", p)
		}
	}()
	synctest.Test(t, func(t *testing.T) { r = h.tryOnce(t, l) })
	return r
}

// tryOnce runs l in a goroutine, which ends with the first fatal complaint and
// is waited for.
func (h Harness) tryOnce(t testing.TB, l Law) *record {
	r := new(record)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	b := &bench{Engine: h.Open(t), Lease: h.lease(), ctx: ctx, law: l, record: r,
		prefix: fmt.Sprintf("law:%08x:", rand.Uint32())}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer b.recover()
		l.hold(b)
	}()
	<-done
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

func (r *record) complain(l Law, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = append(r.broken, fmt.Sprintf("broken: %q: ", l.Sentence)+fmt.Sprintf(format, args...))
}

func (r *record) slipped() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow = true
}
