package enginetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
)

const lease = 3 * time.Second

var ann = engine.Request{Key: "k", Holder: "ann", Attempt: "1", Lease: lease}

// runFaulty runs a test in a bubble, on a Faulty around a memory engine.
func runFaulty(t *testing.T, sentence string, test func(t *testing.T, f *enginetest.Faulty, e *memory.Engine)) {
	t.Run(sentence, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := memory.New()
			test(t, enginetest.NewFaulty(e), e)
		})
	})
}

// calls makes each call of an engine, and returns its error.
var calls = map[enginetest.Op]func(context.Context, engine.Engine) error{
	enginetest.OpAcquire: func(ctx context.Context, e engine.Engine) error { _, err := e.Acquire(ctx, ann); return err },
	enginetest.OpRenew:   func(ctx context.Context, e engine.Engine) error { return e.Renew(ctx, []engine.Request{ann})[0] },
	enginetest.OpRelease: func(ctx context.Context, e engine.Engine) error { _, err := e.Release(ctx, ann); return err },
	enginetest.OpAbandon: func(ctx context.Context, e engine.Engine) error { _, err := e.Abandon(ctx, ann); return err },
}

func held(e engine.Engine) bool {
	var busy *engine.BusyError
	bob := engine.Request{Key: "k", Holder: "bob", Attempt: "1", Lease: 1}
	_, err := e.Acquire(context.Background(), bob)
	e.Release(context.Background(), bob)
	return errors.As(err, &busy)
}

func TestFaults(t *testing.T) {
	for op, call := range calls {
		runFaulty(t, "a refused "+string(op)+" does not happen", func(t *testing.T, f *enginetest.Faulty, e *memory.Engine) {
			before := op != enginetest.OpAcquire
			if before {
				e.Acquire(t.Context(), ann)
			}
			f.Inject(enginetest.Fault{Op: op, Do: enginetest.Refuse, Times: 1})
			if err := call(t.Context(), f); !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrUnknown) {
				t.Errorf("got %v, want engine.ErrUnavailable", err)
			}
			if held(e) != before {
				t.Errorf("the lock is held: %v, want %v", !before, before)
			}
			if err := call(t.Context(), f); err != nil {
				t.Errorf("the second call = %v, want nil: the fault is for one call", err)
			}
			if f.Fired(op) != 1 || f.Fired() != 1 || f.Calls(op) != 2 {
				t.Errorf("Fired(op) = %d, Fired() = %d, Calls(op) = %d; want 1, 1, 2", f.Fired(op), f.Fired(), f.Calls(op))
			}
		})

		runFaulty(t, string(op)+" happens although its reply is lost", func(t *testing.T, f *enginetest.Faulty, e *memory.Engine) {
			if op != enginetest.OpAcquire {
				e.Acquire(t.Context(), ann)
			}
			time.Sleep(lease / 2)
			f.Inject(enginetest.Fault{Op: op, Do: enginetest.LoseReply})
			if err := call(t.Context(), f); !errors.Is(err, engine.ErrUnknown) {
				t.Errorf("got %v, want engine.ErrUnknown", err)
			}
			time.Sleep(lease / 2) // only a lock that was renewed or acquired just now is still held
			if want := op == enginetest.OpAcquire || op == enginetest.OpRenew; held(e) != want {
				t.Errorf("the lock is held: %v, want %v", !want, want)
			}
		})

		runFaulty(t, "a hanging "+string(op)+" ends with its context or when healed", func(t *testing.T, f *enginetest.Faulty, e *memory.Engine) {
			f.Inject(enginetest.Fault{Op: op, Do: enginetest.Hang})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			err := call(ctx, f)
			if !errors.Is(err, engine.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want engine.ErrUnknown and the context's cause", err)
			}
			if time.Since(start) != time.Minute {
				t.Errorf("the call ended after %v, want a minute", time.Since(start))
			}
			time.AfterFunc(time.Hour, f.Heal)
			if err := call(t.Context(), f); !errors.Is(err, engine.ErrUnknown) {
				t.Errorf("a call ended by Heal = %v, want engine.ErrUnknown", err)
			}
			if e.Len() != 0 {
				t.Error("a call that hangs was delivered")
			}
		})
	}

	runFaulty(t, "a delayed call is delivered after its caller gave up", func(t *testing.T, f *enginetest.Faulty, e *memory.Engine) {
		f.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: time.Hour, Times: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := f.Acquire(ctx, ann)
		if !errors.Is(err, engine.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire: got %v, want engine.ErrUnknown and the context's cause", err)
		}
		if held(e) {
			t.Error("the call was delivered at once")
		}
		f.Wait()
		if !held(e) {
			t.Error("the call was not delivered")
		}
	})

	runFaulty(t, "a delayed call answers a caller that waits", func(t *testing.T, f *enginetest.Faulty, _ *memory.Engine) {
		f.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: time.Second})
		start := time.Now()
		if g, err := f.Acquire(t.Context(), ann); err != nil || g.Count != 1 || time.Since(start) != time.Second {
			t.Errorf("Acquire: got %+v, %v after %v; want a grant after a second", g, err, time.Since(start))
		}
	})

	runFaulty(t, "a duplicated call gets the second answer", func(t *testing.T, f *enginetest.Faulty, e *memory.Engine) {
		e.Acquire(t.Context(), ann)
		f.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Duplicate})
		if p, err := f.Release(t.Context(), ann); err != nil || p.Outcome != engine.AlreadyFree {
			t.Errorf("Release: got %v, %v; want already-free", p.Outcome, err)
		}
	})

	runFaulty(t, "a fault for one key does not affect others", func(t *testing.T, f *enginetest.Faulty, _ *memory.Engine) {
		f.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse, Key: "other"})
		if _, err := f.Acquire(t.Context(), ann); err != nil {
			t.Errorf("Acquire = %v, want nil", err)
		}
	})

	runFaulty(t, "a refusal returns the error of the fault", func(t *testing.T, f *enginetest.Faulty, _ *memory.Engine) {
		f.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse, Err: engine.ErrOverloaded})
		if _, err := f.Acquire(t.Context(), ann); !errors.Is(err, engine.ErrOverloaded) {
			t.Errorf("Acquire: got %v, want engine.ErrOverloaded", err)
		}
	})

	runFaulty(t, "a healed engine works", func(t *testing.T, f *enginetest.Faulty, _ *memory.Engine) {
		f.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		f.Heal()
		if _, err := f.Acquire(t.Context(), ann); err != nil {
			t.Errorf("Acquire = %v, want nil", err)
		}
	})

	runFaulty(t, "the clock of the wrapped engine can be stepped", func(t *testing.T, f *enginetest.Faulty, e *memory.Engine) {
		e.Acquire(t.Context(), ann)
		f.Step(lease)
		if held(e) {
			t.Error("the lease did not expire")
		}
	})
}

func TestMutedNotifications(t *testing.T) {
	runFaulty(t, "notifications are dropped until healed", func(t *testing.T, f *enginetest.Faulty, e *memory.Engine) {
		f.Inject(enginetest.Fault{Op: enginetest.OpNotify, Do: enginetest.Mute})
		wake, stop := f.Capabilities().Notifier.Notify(engine.Request{Key: "k"})
		defer stop()
		synctest.Wait()
		e.Acquire(t.Context(), ann)
		e.Release(t.Context(), ann)
		synctest.Wait()
		if len(wake) != 0 || f.Fired(enginetest.OpNotify) != 2 {
			t.Errorf("%d notifications arrived, %d were dropped; want 0 and 2", len(wake), f.Fired(enginetest.OpNotify))
		}
		f.Heal()
		e.Acquire(t.Context(), ann)
		e.Release(t.Context(), ann)
		synctest.Wait()
		if len(wake) != 1 {
			t.Error("no notification arrived after Heal")
		}
	})

	runFaulty(t, "a notification can be delayed", func(t *testing.T, f *enginetest.Faulty, _ *memory.Engine) {
		f.Inject(enginetest.Fault{Op: enginetest.OpNotify, Do: enginetest.Delay, After: time.Minute})
		start := time.Now()
		wake, stop := f.Capabilities().Notifier.Notify(engine.Request{Key: "k"})
		defer stop()
		<-wake
		if time.Since(start) != time.Minute {
			t.Errorf("the notification arrived after %v, want a minute", time.Since(start))
		}
	})
}

func TestAFaultThatCannotHappenPanics(t *testing.T) {
	for _, x := range []enginetest.Fault{
		{Op: enginetest.OpAcquire, Do: enginetest.Mute},
		{Op: enginetest.OpNotify, Do: enginetest.LoseReply},
		{Op: enginetest.OpAcquire, Do: enginetest.Delay},
		{Do: enginetest.Refuse},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Inject(%+v) did not panic", x)
				}
			}()
			enginetest.NewFaulty(memory.New()).Inject(x)
		}()
	}
}
