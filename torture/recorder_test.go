package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-go/interlock/engine"
)

// A recorder asks an engine for locks, and writes down what it is told.
type recorder struct {
	engine   engine.Engine
	id       string // the prefix of its holder ids
	start    time.Time
	wanted   int    // operations
	often    int    // how many of them there are for one evil deed
	harm     func() // does it
	settling sync.WaitGroup

	mu       sync.Mutex
	ops      []*porcupine.Operation
	attempts int
	said     map[string]int // by answer
	err      error          // the first that is no answer
}

const (
	// inTime is how long a call may take; one that takes longer is unknown.
	inTime = 150 * time.Millisecond

	// tooLate is by how much some calls are delayed, so that they arrive when they
	// have been given up.
	tooLate = inTime * 4 / 3

	// stay is longer than any of this takes: no lease and no place runs out.
	stay = 10 * time.Minute
)

// record has some callers at the engine until there are as many operations as
// wanted.
func (r *recorder) record(callers int, ask func() engine.Request) {
	r.id, r.start, r.said = "0f0e0d0c-0b0a-4909-8807-060504030201", time.Now(), make(map[string]int)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for !r.done() {
				r.attempt(ask()).run()
			}
		})
	}
	all.Wait()
}

func (r *recorder) done() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops) >= r.wanted || r.err != nil
}

// history returns what was recorded, once all of it is settled.
func (r *recorder) history() ([]porcupine.Operation, error) {
	r.settling.Wait()
	ops := make([]porcupine.Operation, len(r.ops))
	for i, op := range r.ops {
		ops[i] = *op
	}
	return ops, r.err
}

// A try is one attempt, which may be asked for more than once.
type try struct {
	*recorder
	number int
	req    engine.Request
	open   []*porcupine.Operation // of which it is not known what they did

	onTheWay sync.WaitGroup // calls that have not reached the engine, or not left it
	sent     atomic.Int64   // when the last one reached it
}

// A doorman is an engine that tells a try when it gets there, whatever delayed it
// on the way.
type doorman struct{ engine.Engine }

type tryKey struct{}

func (d doorman) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	a := ctx.Value(tryKey{}).(*try)
	a.sent.Store(a.now())
	defer a.onTheWay.Done()
	return d.Engine.Acquire(ctx, r)
}

func (r *recorder) attempt(req engine.Request) *try {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts++
	a := &try{recorder: r, number: r.attempts, req: req}
	a.req.Holder, a.req.Attempt = fmt.Sprintf("%s:%d", r.id, a.number), fmt.Sprint(a.number)
	return a
}

// run asks until the lock is granted or patience ends, and leaves nothing behind.
func (a *try) run() {
	for range 1 + rand.IntN(8) {
		said := a.acquire()
		if said == unknown && rand.IntN(3) == 0 {
			break
		}
		<-time.After(rand.N(12 * time.Millisecond)) // to work, or to wait
		if said == granted {
			if rand.IntN(4) == 0 {
				a.renew()
			}
			break
		}
	}
	if len(a.open) == 0 {
		a.settled(a.engine.Release)
	}
	if len(a.open) > 0 { // maybe by now
		a.settling.Go(a.settle)
	}
}

// settle gives up, as the client does, an attempt that may still be on its way.
// After that it is known that nothing of it can happen any more.
func (a *try) settle() {
	a.settled(a.engine.Abandon)
	a.onTheWay.Wait()
	over := a.start.Add(time.Duration(a.sent.Load()) + a.engine.Capabilities().LateGrant)
	<-time.After(time.Until(over) + 20*time.Millisecond) // clocks run apart
	a.settled(a.engine.Abandon)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, op := range a.open {
		op.Return = a.now()
	}
}

// settled releases until there is an answer.
func (a *try) settled(release func(context.Context, engine.Request) (engine.ReleaseResult, error)) {
	for range 100 {
		said := a.call("release", func(ctx context.Context) (answer, error) {
			p, err := release(ctx, a.req)
			return answer{said: p.Outcome.String()}, err
		})
		if said != "" && said != unknown {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	a.fail(errors.New("a release without an answer a hundred times in a row"))
}

func (a *try) acquire() string {
	a.onTheWay.Add(1)
	said := a.call("acquire", func(ctx context.Context) (answer, error) {
		g, err := a.engine.Acquire(context.WithValue(ctx, tryKey{}, a), a.req)
		if refusal := (*engine.BusyError)(nil); errors.As(err, &refusal) {
			return answer{said: busy, ahead: refusal.Ahead}, nil
		}
		return answer{said: granted, fence: g.Fence}, err
	})
	a.req.Retry = a.req.Retry || said == unknown
	return said
}

func (a *try) renew() {
	a.call("renew", func(ctx context.Context) (answer, error) {
		err := a.engine.Renew(ctx, []engine.Request{a.req})[0]
		if errors.Is(err, engine.ErrNotHolder) {
			return answer{said: notHolder}, nil
		}
		return answer{said: renewed}, err
	})
}

// call asks the engine, and records what it said. It returns "" if nothing
// happened, which is not recorded.
func (a *try) call(do string, ask func(context.Context) (answer, error)) string {
	ctx, cancel := context.WithTimeout(context.Background(), inTime)
	defer cancel()
	op := &porcupine.Operation{Call: a.now()}
	said, err := ask(ctx)
	op.Return = a.now()
	switch {
	case err == nil:
	case errors.Is(err, engine.ErrUnknown):
		said = answer{said: unknown}
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return ""
	default:
		a.fail(fmt.Errorf("%s: %w", do, err))
		return ""
	}
	op.Input = call{do: do, key: a.req.Key, attempt: a.number, kind: a.req.Kind, place: a.req.QueueLease > 0}
	op.Output = said
	if said.said == unknown && do != "renew" { // of which nothing can be left behind
		a.open = append(a.open, op)
	}
	a.add(op)
	return said.said
}

func (r *recorder) add(op *porcupine.Operation) {
	r.mu.Lock()
	r.ops = append(r.ops, op)
	r.said[op.Output.(answer).said]++
	n := len(r.ops)
	r.mu.Unlock()
	if n < r.wanted && n%r.often == 0 {
		r.harm()
	}
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

func (r *recorder) now() int64 { return int64(time.Since(r.start)) }

// forged is the part of a history up to a grant, without the release of who was
// alone with the same lock before. Nothing else could tell of that release.
func forged(history []porcupine.Operation) []porcupine.Operation {
	doubtful := make(map[int]bool) // attempts
	for _, op := range history {
		if op.Output.(answer).said == unknown {
			doubtful[op.Input.(call).attempt] = true
		}
	}
	i := slices.IndexFunc(history, func(op porcupine.Operation) bool {
		c := op.Input.(call)
		return !doubtful[c.attempt] && c.kind != engine.Read && op.Output.(answer).said == engine.Released.String()
	})
	missing := history[i]
	n := slices.IndexFunc(history, func(op porcupine.Operation) bool {
		return op.Input.(call).key == missing.Input.(call).key && op.Output.(answer).said == granted && op.Call > missing.Return
	})
	return slices.Delete(slices.Clone(history[:n+1]), i, i+1)
}
