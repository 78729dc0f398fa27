package interlocktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

// A recorder is a testing.TB that records its failures.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()                   {}
func (r *recorder) Cleanup(fn func())         { r.cleanups = append(r.cleanups, fn) }
func (r *recorder) Errorf(f string, a ...any) { r.failures = append(r.failures, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); panic(r) }

func (r *recorder) end() {
	for _, fn := range slices.Backward(r.cleanups) {
		fn()
	}
}

func (r *recorder) want(t *testing.T, failures ...string) {
	t.Helper()
	if len(r.failures) != len(failures) {
		t.Errorf("the failures are %q, want %q", r.failures, failures)
		return
	}
	for i, f := range failures {
		if !strings.Contains(r.failures[i], f) {
			t.Errorf("failure %d is %q, want %q in it", i, r.failures[i], f)
		}
	}
}

var key = guard.Of("ann", "1")

func TestInterlocktest(t *testing.T) {
	for sentence, check := range map[string]func(t *testing.T, r *recorder){
		"Once, Never and Times count runs": func(t *testing.T, r *recorder) {
			c := interlocktest.Count(r, "paying")
			c.Never()
			c.Mark()
			c.Once()
			r.want(t)
			c.Mark()
			c.Once()
			c.Never()
			c.Times(2)
			r.want(t, "paying ran 2 times, want 1", "paying ran 2 times, want 0")
		},
		"Alone detects overlapping runs": func(t *testing.T, r *recorder) {
			c := interlocktest.Count(r, "paying")
			interlocktest.Together(3, func(int) { defer c.Enter()() })
			first := c.Enter()
			first()
			first()
			c.Alone()
			before := len(r.failures)
			defer c.Enter()()
			defer c.Enter()()
			c.Alone()
			if len(r.failures) != before+1 {
				t.Errorf("the failures are %q, want one more for two overlapping runs", r.failures)
			}
		},
		"work runs once although replies are lost, late or duplicated": func(t *testing.T, r *recorder) {
			w := interlocktest.New(r)
			g := interlocktest.Guard[string](w, guard.Policy{Name: "order"})
			c := interlocktest.Count(r, "placing")
			w.LoseReply(interlocktest.Claim, 1)
			w.Duplicate(interlocktest.Settle, 1)
			for range 3 {
				if _, err := g.Do(t.Context(), key, func(context.Context) (string, error) { c.Mark(); return "a", nil }); err != nil {
					t.Error(err)
				}
			}
			c.Once()
			if w.Fired(interlocktest.Claim) != 1 || w.Fired(interlocktest.Settle) != 1 || w.Calls(interlocktest.Claim) != 2 {
				t.Errorf("faults hit %d claims and %d settlements, and %d claims were sent; want 1, 1, 2", w.Fired(interlocktest.Claim), w.Fired(interlocktest.Settle), w.Calls(interlocktest.Claim))
			}
			w.Delay(interlocktest.Claim, time.Second, 1)
			start := time.Now()
			_, _ = g.Do(t.Context(), guard.Of("ann", "2"), func(context.Context) (string, error) { return "a", nil })
			if d := time.Since(start); d != time.Second {
				t.Errorf("the delayed call took %v, want 1s", d)
			}
			r.end()
			r.want(t)
		},
		"an engine that fails is down until Heal": func(t *testing.T, r *recorder) {
			w := interlocktest.New(r)
			g := interlocktest.Guard[string](w, guard.Policy{Name: "order"})
			fn := func(context.Context) (string, error) { return "a", nil }
			for _, fail := range []func(...interlocktest.Op){w.Fail, w.Stall} {
				fail()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				if _, err := g.Do(ctx, key, fn); !errors.Is(err, guard.ErrDown) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Do = %v, want ErrDown or DeadlineExceeded", err)
				}
				if _, _, err := w.Client().Mutex("k:1").TryLock(ctx); err == nil {
					t.Error("TryLock = nil although the engine is down")
				}
				cancel()
				w.Heal()
				time.Sleep(time.Minute)
			}
			if _, err := g.Do(t.Context(), key, fn); err != nil {
				t.Error(err)
			}
			r.end()
			r.want(t)
		},
		"Forget ends all locks and claims": func(t *testing.T, r *recorder) {
			w := interlocktest.New(r)
			g := interlocktest.Guard[string](w, guard.Policy{Name: "order"})
			ctx, claim, err := g.Begin(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			held, _, err := w.Client().Mutex("k:1").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			w.Forget()
			<-ctx.Done()
			<-held.Done()
			if err := claim.Complete("a"); !errors.Is(err, interlock.ErrLost) {
				t.Errorf("Complete = %v, want ErrLost", err)
			}
			r.end()
			r.want(t)
		},
		"without notifications a waiter polls": func(t *testing.T, r *recorder) {
			w := interlocktest.New(r)
			w.Mute()
			_, hold, err := w.Client().Mutex("k:1").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Second, func() { _ = hold.Unlock() })
			start := time.Now()
			if err := w.Client().Mutex("k:1").Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				t.Error(err)
			}
			if d := time.Since(start); d <= time.Second || d > 2*time.Second {
				t.Errorf("the waiter got the lock after %v, want between 1s and 2s", d)
			}
			r.end()
			r.want(t)
		},
		"a test that leaves a lock or a claim behind fails": func(t *testing.T, r *recorder) {
			w := interlocktest.New(r)
			if _, _, err := w.Client().Mutex("k:1").Lock(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, _, err := interlocktest.Guard[string](w, guard.Policy{Name: "order"}).Begin(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			r.end()
			r.want(t, "1 claims still running", "1 locks that were still held")
		},
		"an invalid policy fails the test": func(t *testing.T, r *recorder) {
			func() {
				defer func() { _ = recover() }()
				interlocktest.Guard[string](interlocktest.New(r), guard.Policy{})
			}()
			r.want(t, "invalid policy")
		},
		"Engine returns the engine of all clients": func(t *testing.T, r *recorder) {
			w := interlocktest.New(r)
			_, hold, err := interlock.New(w.Engine()).Mutex("k:1").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := w.Client().Mutex("k:1").TryLock(t.Context()); !errors.Is(err, interlock.ErrContended) {
				t.Errorf("TryLock = %v, want ErrContended", err)
			}
			_ = hold.Unlock()
			r.end()
			r.want(t)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { check(t, &recorder{TB: t}) })
		})
	}
}
