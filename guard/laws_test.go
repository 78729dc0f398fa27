package guard_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
)

// A law holds for guards on every engine. Its sentence is the name of its test.
type law struct {
	sentence string
	check    func(t *testing.T, w *world)
}

// A world is an engine that fails on command, and guards on it.
type world struct {
	memory    *memory.Engine
	engine    *enginetest.Faulty
	inProcess bool // its guards use the memory engine directly, where no connection can fail
	traced    bool // its guards have the trace of busyTrace
	closers   []func()
}

// topics lists all laws by topic.
var topics = map[string][]law{
	"once":        onceLaws,
	"duplicate":   duplicateLaws,
	"waiting":     waitingLaws,
	"window":      windowLaws,
	"error":       errorLaws,
	"unknown":     unknownLaws,
	"classify":    classifyLaws,
	"loss":        lossLaws,
	"down":        downLaws,
	"local":       localLaws,
	"result":      resultLaws,
	"operator":    operatorLaws,
	"records":     recordsLaws,
	"closing":     closingLaws,
	"token":       tokenLaws,
	"trace":       traceLaws,
	"inprocess":   inProcessLaws,
	"claimdirect": claimDirectLaws,
	"tx":          txLaws,
	"envelope":    envelopeLaws,
	"json":        jsonLaws,
}

// TestLaws checks every law in virtual time, on a remote and on an in-process engine, and
// with traces, which must not change a verdict. No law may leave a goroutine, a claim or a
// waiter behind.
func TestLaws(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the panics of traces are logged there
	for topic, laws := range topics {
		t.Run(topic, func(t *testing.T) {
			for _, l := range laws {
				t.Run(l.sentence, func(t *testing.T) {
					for _, inProcess := range placements(topic, l.sentence) {
						synctest.Test(t, func(t *testing.T) { checkLaw(t, l, inProcess, false) })
						synctest.Test(t, func(t *testing.T) { checkLaw(t, l, inProcess, true) })
					}
				})
			}
		})
	}
}

func checkLaw(t *testing.T, l law, inProcess, traced bool) {
	m := memory.New()
	w := &world{memory: m, engine: enginetest.NewFaulty(m), inProcess: inProcess, traced: traced}
	defer func() {
		w.end() // also if the law failed: its leftovers would fail the others
		if inProcess && t.Failed() {
			t.Log("on an in-process engine")
		}
		if traced && t.Failed() {
			t.Log("with traces")
		}
	}()
	l.check(t, w)
}

// end closes everything that a law started.
func (w *world) end() {
	w.engine.Heal()
	w.engine.Wait()
	for _, end := range w.closers {
		end()
	}
	synctest.Wait()
}

// asked returns the engine that the guards use.
func (w *world) asked() engine.Engine {
	if w.inProcess {
		return w.memory
	}
	return w.engine
}

// process returns a guard as in a process of its own, with its own inflight table.
func process[T any](t *testing.T, w *world, p guard.Policy, opts ...guard.Option) *guard.Guard[T] {
	t.Helper()
	return on[T](t, w, w.asked(), p, opts...)
}

// remote returns a guard of a process that may lose its connection to the engine.
func remote[T any](t *testing.T, w *world, p guard.Policy, opts ...guard.Option) *guard.Guard[T] {
	t.Helper()
	return on[T](t, w, w.engine, p, opts...)
}

// on returns a guard on the given engine.
func on[T any](t *testing.T, w *world, e engine.Engine, p guard.Policy, opts ...guard.Option) *guard.Guard[T] {
	t.Helper()
	client := interlock.New(e)
	if w.traced {
		client, opts = busyClient(e), append(slices.Clip(opts), guard.WithTrace(busyTrace()))
	}
	g, err := guard.New[T](client, p, opts...)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	w.closers = append(w.closers, func() {
		if err := g.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if s := g.Stats(); s.Running != 0 || s.Waiting != 0 {
			t.Errorf("at the end %d claims run and %d duplicates wait, want none", s.Running, s.Waiting)
		}
	})
	return g
}

// A job is work that counts its runs.
type job struct {
	mu     sync.Mutex
	ran    int
	result string
	takes  time.Duration
	err    error
}

func (j *job) do(ctx context.Context) (string, error) {
	j.mu.Lock()
	j.ran++
	j.mu.Unlock()
	select {
	case <-time.After(j.takes):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return j.result, j.err
}

func (j *job) want(t *testing.T, n int) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ran != n {
		t.Errorf("the work was done %d times, want %d", j.ran, n)
	}
}

var (
	key   = guard.Of("ann", "order-1")
	order = guard.Policy{Name: "order"}
	rerun = guard.Policy{Name: "order", OnUnknown: guard.Rerun}
)

func work(result string, duration time.Duration) *job {
	return &job{result: result, takes: duration}
}

// do requires that a call returns want.
func do(t *testing.T, g *guard.Guard[string], k guard.Key, j *job, want string) {
	t.Helper()
	if got, err := g.Do(t.Context(), k, j.do); err != nil || got != want {
		t.Fatalf("Do = %q, %v; want %q", got, err, want)
	}
}

// fails requires that a call fails with an error that matches want.
func fails(t *testing.T, g *guard.Guard[string], k guard.Key, j *job, want error) error {
	t.Helper()
	got, err := g.Do(t.Context(), k, j.do)
	if !errors.Is(err, want) {
		t.Fatalf("Do = %q, %v; want an error that matches %v", got, err, want)
	}
	return err
}

// refused requires that a call is refused as a duplicate.
func refused(t *testing.T, g *guard.Guard[string], k guard.Key, j *job) *guard.DuplicateError {
	t.Helper()
	var d *guard.DuplicateError
	if err := fails(t, g, k, j, guard.ErrDuplicate); !errors.As(err, &d) {
		t.Fatalf("%v is not a *DuplicateError", err)
	}
	return d
}

// begin requires that Begin grants a claim.
func begin(t *testing.T, g *guard.Guard[string], k guard.Key) (context.Context, *guard.Claim[string]) {
	t.Helper()
	ctx, c, err := g.Begin(t.Context(), k)
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	if v, ok := c.Result(); ok {
		t.Fatalf("Begin found the result %q, want a claim", v)
	}
	return ctx, c
}

// startCall makes a call in the background. The returned function waits for its result.
func startCall(t *testing.T, g *guard.Guard[string], k guard.Key, j *job) (wait func() (string, error)) {
	t.Helper()
	type answer struct {
		v   string
		err error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := g.Do(t.Context(), k, j.do)
		done <- answer{v, err}
	}()
	synctest.Wait()
	return func() (string, error) {
		a := <-done
		return a.v, a.err
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want one that matches %v", err, target)
	}
}

// together runs fn n times at once and waits.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

func wantAbout(t *testing.T, what string, got, want, slack time.Duration) {
	t.Helper()
	if got < want-slack || got > want+slack {
		t.Errorf("%s is %v, want about %v", what, got, want)
	}
}
