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

// A recorder makes concurrent calls of an engine and records its answers.
type recorder struct {
	engine      engine.Engine
	id          string // the prefix of its holder ids
	start       time.Time
	callTimeout time.Duration // how long a call may take; the outcome of a longer call is unknown
	wanted      int           // the number of operations to record
	faultEvery  int           // the number of operations between two faults
	injectFault func()
	resolving   sync.WaitGroup

	mu       sync.Mutex
	ops      []*porcupine.Operation
	attempts int            // the number of the last attempt; other processes have other numbers
	results  map[string]int // the number of operations by answer
	err      error          // the first unexpected error
}

// longLease is longer than the test: no lease and no queue position expires.
const longLease = 10 * time.Minute

// record runs callers until the history has the wanted number of operations.
func (r *recorder) record(callers int, ask func() engine.Request) {
	r.recordTries(callers, func() { r.newTry(ask()).run() })
}

// recordTries is record for attempts of any kind.
func (r *recorder) recordTries(callers int, try func()) {
	r.id, r.start, r.results = "0f0e0d0c-0b0a-4909-8807-060504030201", time.Now(), make(map[string]int)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for !r.done() {
				try()
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

// history waits until all attempts are resolved, and returns the operations.
func (r *recorder) history() ([]porcupine.Operation, error) {
	r.resolving.Wait()
	ops := make([]porcupine.Operation, len(r.ops))
	for i, op := range r.ops {
		ops[i] = *op
	}
	return ops, r.err
}

// A try is one attempt to acquire a lock. It may send its acquire several times.
type try struct {
	*recorder
	number     int
	req        engine.Request
	unresolved []*porcupine.Operation // operations with an unknown outcome

	inFlight  sync.WaitGroup // acquires that the engine has not finished
	arrivedAt atomic.Int64   // when the last acquire reached the engine
}

// An arrivalRecorder is an engine that records when an acquire reaches it, after all
// injected delays.
type arrivalRecorder struct{ engine.Engine }

type tryKey struct{}

func (d arrivalRecorder) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	a := ctx.Value(tryKey{}).(*try)
	a.arrivedAt.Store(a.now())
	defer a.inFlight.Done()
	return d.Engine.Acquire(ctx, r)
}

func (r *recorder) newTry(req engine.Request) *try {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts++
	a := &try{recorder: r, number: r.attempts, req: req}
	a.req.Holder, a.req.Attempt = fmt.Sprintf("%s:%d", r.id, a.number), fmt.Sprint(a.number)
	return a
}

// run retries until the lock is granted or a limit is reached, and then releases it.
func (a *try) run() {
	for range 1 + rand.IntN(8) {
		got := a.acquire()
		if got == unknown && rand.IntN(3) == 0 {
			break
		}
		<-time.After(rand.N(12 * time.Millisecond)) // hold the lock, or wait
		if got == granted {
			if rand.IntN(4) == 0 {
				a.renew()
			}
			break
		}
	}
	if len(a.unresolved) == 0 {
		a.releaseUntilAnswered(a.engine.Release)
	}
	if len(a.unresolved) > 0 { // also if the release above had no answer
		a.resolving.Go(a.resolve)
	}
}

// resolve abandons an attempt whose calls may still be in flight, as the client does.
// Afterwards none of them can take effect. Without a LateGrant, this is so as soon as the
// abandon is answered.
func (a *try) resolve() {
	a.releaseUntilAnswered(a.engine.Abandon)
	late := a.engine.Capabilities().LateGrant
	if late == 0 {
		a.end()
	}
	a.inFlight.Wait()
	if late > 0 {
		end := time.Unix(0, a.arrivedAt.Load()).Add(late)
		<-time.After(time.Until(end) + 20*time.Millisecond) // tolerance between clocks
		a.releaseUntilAnswered(a.engine.Abandon)
		a.end()
	}
}

// end notes that no call of the attempt can take effect any more.
func (a *try) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, op := range a.unresolved {
		op.Return = a.now()
	}
}

var errSilent = errors.New("100 calls in a row had no answer")

// releaseUntilAnswered repeats the release until it gets an answer.
func (a *try) releaseUntilAnswered(release func(context.Context, engine.Request) (engine.ReleaseResult, error)) {
	for range 100 {
		got := a.call("release", func(ctx context.Context) (answer, error) {
			p, err := release(ctx, a.req)
			return answer{result: p.Outcome.String()}, err
		})
		if got != "" && got != unknown {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	a.fail(errSilent)
}

func (a *try) acquire() string {
	a.inFlight.Add(1)
	got := a.call("acquire", func(ctx context.Context) (answer, error) {
		g, err := a.engine.Acquire(context.WithValue(ctx, tryKey{}, a), a.req)
		if refusal := (*engine.BusyError)(nil); errors.As(err, &refusal) {
			return answer{result: busy, ahead: refusal.Ahead}, nil
		}
		return answer{result: granted, fence: g.Fence}, err
	})
	a.req.Retry = a.req.Retry || got == unknown
	return got
}

func (a *try) renew() {
	a.call("renew", func(ctx context.Context) (answer, error) {
		err := a.engine.Renew(ctx, []engine.Request{a.req})[0]
		if errors.Is(err, engine.ErrNotHolder) {
			return answer{result: notHolder}, nil
		}
		return answer{result: renewed}, err
	})
}

// call calls the engine and records its answer. If the call had no effect, it returns ""
// and records nothing.
func (a *try) call(do string, ask func(context.Context) (answer, error)) string {
	// Not a deadline: the queue position would expire with it, but the model has no clock.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer time.AfterFunc(a.callTimeout, cancel).Stop()
	op := &porcupine.Operation{Call: a.now()}
	got, err := ask(ctx)
	op.Return = a.now()
	switch {
	case err == nil:
	case errors.Is(err, engine.ErrUnknown):
		got = answer{result: unknown}
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, engine.ErrOverloaded), errors.Is(err, context.Canceled):
		return ""
	default:
		a.fail(fmt.Errorf("%s: %w", do, err))
		return ""
	}
	op.Input = call{op: do, key: a.req.Key, attempt: a.number, kind: a.req.Kind, queued: a.req.QueueLease > 0, limit: a.req.Limit}
	op.Output = got
	if got.result == unknown && do != "renew" { // a renewal has no effect to resolve
		a.unresolved = append(a.unresolved, op)
	}
	a.add(op)
	return got.result
}

func (r *recorder) add(op *porcupine.Operation) {
	r.mu.Lock()
	r.ops = append(r.ops, op)
	r.results[op.Output.(answer).result]++
	n := len(r.ops)
	r.mu.Unlock()
	if n < r.wanted && n%r.faultEvery == 0 {
		r.injectFault()
	}
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// now returns the time on the clock that all processes of the machine share.
func (r *recorder) now() int64 { return time.Now().UnixNano() }

// dropRelease returns an invalid history: it drops the release of a holder that had the lock
// alone, or of a claim without an outcome, and all calls after the next grant of that lock.
// The holder has no call with an unknown outcome, because such a call could explain how the
// lock became free. A history without such a release has only permits: one gets a low fence.
func dropRelease(history []porcupine.Operation) []porcupine.Operation {
	uncertain := make(map[int]bool) // attempts that have a call with an unknown outcome
	for _, op := range history {
		if op.Output.(answer).result == unknown {
			uncertain[op.Input.(call).attempt] = true
		}
	}
	for i, missing := range history {
		c := missing.Input.(call)
		alone := c.kind != engine.Read && c.kind != engine.Permit && c.op != opSettle
		if !alone || uncertain[c.attempt] || missing.Output.(answer).result != engine.Released.String() {
			continue
		}
		if n := nextGrant(history, missing); n > i {
			return slices.Delete(slices.Clone(history[:n+1]), i, i+1)
		}
	}
	spoiled := slices.Clone(history)
	for _, op := range history {
		if n := nextGrant(history, op); n >= 0 && op.Output.(answer).result == granted {
			spoiled[n].Output = answer{result: granted, fence: 1}
			break
		}
	}
	return spoiled
}

// nextGrant returns the index of the first grant of the same lock to another attempt after an
// operation, or -1.
func nextGrant(history []porcupine.Operation, after porcupine.Operation) int {
	c := after.Input.(call)
	return slices.IndexFunc(history, func(op porcupine.Operation) bool {
		o := op.Input.(call)
		return o.key == c.key && o.attempt != c.attempt && op.Output.(answer).result == granted && op.Call > after.Return
	})
}
