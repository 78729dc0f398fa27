package guard_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
)

var strict = guard.Policy{Name: "order", OnUnknown: guard.Hold, Retain: guard.DefaultRetain}

// errLost is what a late result is refused with.
var errLost = interlock.ErrLost

// dies claims key in a process that is not heard of again.
func dies(t *testing.T, w *world, p guard.Policy, k guard.Key, opts ...guard.Option) {
	t.Helper()
	g := far[string](t, w, p, opts...)
	_, c := begin(t, g, k)
	w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
	lease := g.Policy().Lease
	time.Sleep(2 * lease)
	w.engine.Heal()
	wantErr(t, c.Complete("late"), errLost)
}

// ways are how work ends without anybody knowing what became of it.
var ways = map[string]func(context.Context) (string, error){
	"deadline": func(ctx context.Context) (string, error) { return "", context.DeadlineExceeded },
	"network":  func(ctx context.Context) (string, error) { return "", fmt.Errorf("read: %w", os.ErrDeadlineExceeded) },
	"answer": func(ctx context.Context) (string, error) { // whose own Timeout does not look that deep
		return "", &url.Error{Op: "Post", Err: fmt.Errorf("reading the answer: %w", context.DeadlineExceeded)}
	},
	"doubt": func(ctx context.Context) (string, error) { return "", guard.OutcomeUnknown(errNo) },
}

var unknownLaws = []law{
	{"kill after claim, let two leases pass: unknown for all, until Retain is over", func(t *testing.T, w *world) {
		dies(t, w, strict, key)
		g, j := process[string](t, w, strict), work("a", 0)
		for range 3 {
			var u *guard.UnknownError
			if err := fails(t, g, key, j, guard.ErrUnknown); !errors.As(err, &u) || u.Fence == 0 || u.Began.IsZero() || u.Left <= 0 {
				t.Errorf("told %+v", err)
			}
			time.Sleep(time.Minute)
		}
		j.want(t, 0)
		time.Sleep(2 * time.Minute)
		do(t, g, key, j, "a")
	}},
	{"by default the next call runs once the lease is over", func(t *testing.T, w *world) {
		dies(t, w, order, key)
		g, j := process[string](t, w, order), work("a", 0)
		do(t, g, key, j, "a")
		do(t, g, key, j, "a")
		j.want(t, 1)
	}},
	{"work that ran out of time, or says that it does not know, is held", func(t *testing.T, w *world) {
		for name, way := range ways {
			g, j, k := process[string](t, w, strict), work("a", 0), guard.Of("ann", name)
			if _, err := g.Do(t.Context(), k, way); err == nil {
				t.Errorf("%s: no error", name)
			}
			fails(t, g, k, j, guard.ErrUnknown)
			fails(t, process[string](t, w, strict), k, j, guard.ErrUnknown)
			j.want(t, 0)
			if n := g.Stats().Endings[guard.LeftUnknown]; n != 1 {
				t.Errorf("%s: %d left open, want 1", name, n)
			}
		}
	}},
	{"by default it is run again", func(t *testing.T, w *world) {
		for name, way := range ways {
			g, j, k := process[string](t, w, order), work("a", 0), guard.Of("ann", name)
			_, _ = g.Do(t.Context(), k, way)
			do(t, g, k, j, "a")
		}
	}},
	{"a claim that is failed with a doubt, a timeout, or after its context has ended is held as well", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		for i, err := range []error{guard.OutcomeUnknown(errNo), context.DeadlineExceeded, fmt.Errorf("read: %w", os.ErrDeadlineExceeded), errNo} {
			k := guard.Of("ann", fmt.Sprint(i))
			ctx, cancel := context.WithCancel(t.Context())
			_, c, beginErr := g.Begin(ctx, k)
			ok(t, beginErr)
			if i == 3 {
				cancel()
			}
			ok(t, c.Fail(err))
			fails(t, g, k, work("a", 0), guard.ErrUnknown)
			cancel()
		}
	}},
	{"work that is sure that nothing has happened may be done again, whatever its error says", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		_, err := g.Do(t.Context(), key, func(context.Context) (string, error) {
			return "", guard.NotExecuted(fmt.Errorf("dial: %w", os.ErrDeadlineExceeded))
		})
		wantErr(t, err, os.ErrDeadlineExceeded)
		do(t, g, key, work("a", 0), "a")
		if guard.NotExecuted(nil) != nil || guard.OutcomeUnknown(nil) != nil {
			t.Error("nothing went wrong, and there is an error")
		}
	}},
	{"unless the policy says for how long, what is unknown is held for a day, and a result kept for five minutes", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Policy{Name: "pay", OnUnknown: guard.Hold}), work("a", 0)
		_, c := begin(t, g, key)
		ok(t, c.Abandon())
		time.Sleep(23 * time.Hour)
		fails(t, g, key, j, guard.ErrUnknown)
		time.Sleep(time.Hour)
		do(t, g, key, j, "a")
		again := process[string](t, w, order)
		do(t, again, key, j, "a")
		time.Sleep(guard.DefaultRetain)
		do(t, again, key, j, "a")
		j.want(t, 3)
	}},
	{"a resolver that fails again and again is told of the work it is about, and so is the caller", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		g := process[string](t, w, p, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "", false, errNo }))
		_, c := begin(t, g, key)
		fence, began := c.Fence(), time.Now()
		ok(t, c.Abandon())
		for i := range 2 {
			time.Sleep(time.Minute)
			var u *guard.UnknownError
			if err := fails(t, g, key, work("a", 0), guard.ErrUnknown); !errors.As(err, &u) || u.Fence < fence || u.Began.Before(began) {
				t.Errorf("told %+v", err)
			} else if i == 0 && (u.Fence != fence || !u.Began.Equal(began)) {
				t.Errorf("told of %d since %v, want the work: %d since %v", u.Fence, u.Began, fence, began)
			}
		}
	}},
	{"whoever is told that nobody knows is told since when by one clock, the engine's", func(t *testing.T, w *world) {
		w.memory.Step(time.Hour)
		g, other := process[string](t, w, strict), process[string](t, w, strict)
		began := time.Now().Add(time.Hour)
		_, c := begin(t, g, key)
		time.Sleep(time.Second)
		ok(t, c.Abandon())
		asked := claims(w)
		for _, from := range []*guard.Guard[string]{g, other} { // in the process that did it, and from the engine
			var u *guard.UnknownError
			if err := fails(t, from, key, work("a", 0), guard.ErrUnknown); !errors.As(err, &u) || !u.Began.Equal(began) {
				t.Errorf("told %+v, want since %v", err, began)
			}
		}
		if n := claims(w) - asked; n != 1 && !w.near {
			t.Errorf("%d asked the engine, want 1", n)
		}
	}},
	{"an error of work whose context had ended is no plain failure", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := g.Do(ctx, key, func(ctx context.Context) (string, error) {
			cancel(errNo)
			return "", errors.New("driver: bad connection")
		})
		if err == nil {
			t.Error("no error")
		}
		fails(t, g, key, work("a", 0), guard.ErrUnknown)
	}},
	{"a panic is passed on, and the outcome held", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", 0)
		func() {
			defer func() {
				if p := recover(); p != "boom" {
					t.Errorf("recovered %v", p)
				}
			}()
			_, _ = g.Do(t.Context(), key, func(context.Context) (string, error) { panic("boom") })
		}()
		fails(t, g, key, j, guard.ErrUnknown)
		j.want(t, 0)
	}},
	{"a claim that is abandoned without a word is held", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", 0)
		_, c := begin(t, g, key)
		ok(t, c.Abandon())
		ok(t, c.Abandon())
		fails(t, process[string](t, w, strict), key, j, guard.ErrUnknown)
	}},
	{"an outcome that was left open elsewhere is run again by a policy that reruns, with a larger fence", func(t *testing.T, w *world) {
		_, c := begin(t, process[string](t, w, strict), key)
		ok(t, c.Abandon())
		_, again := begin(t, process[string](t, w, order), key)
		if again.Fence() <= c.Fence() {
			t.Errorf("fence %d after %d", again.Fence(), c.Fence())
		}
		ok(t, again.Complete("a"))
		do(t, process[string](t, w, strict), key, work("b", 0), "a")
	}},
	{"an unknown outcome is remembered for Retain from the last sign of life", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Hold, Retain: time.Minute, Lease: 10 * time.Second}
		g, j := far[string](t, w, p), work("a", 0)
		_, c := begin(t, g, key)
		time.Sleep(5 * time.Minute)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
		time.Sleep(65 * time.Second)
		w.engine.Heal()
		fails(t, process[string](t, w, p), key, j, guard.ErrUnknown)
		wantErr(t, c.Complete("late"), errLost)
		time.Sleep(6 * time.Second)
		do(t, process[string](t, w, p), key, j, "a")
	}},
	{"an unknown outcome is seen even if it is remembered for less than a lease, or a window", func(t *testing.T, w *world) {
		for _, p := range []guard.Policy{
			{Name: "order", OnUnknown: guard.Hold, Retain: time.Second},
			{Name: "form", OnUnknown: guard.Hold, After: guard.Window, Window: 10 * time.Minute},
		} {
			_, c := begin(t, far[string](t, w, p), key)
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
			time.Sleep(max(guard.DefaultLease, p.Window) + time.Millisecond)
			fails(t, process[string](t, w, p), key, work("a", 0), guard.ErrUnknown)
			wantErr(t, c.Complete("late"), errLost)
			w.engine.Heal()
		}
	}},

	// Resolve.
	{"a resolver that finds the work done makes its result everybody's", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		asked := 0
		find := guard.Resolver(func(ctx context.Context, k guard.Key) (string, bool, error) {
			asked++
			if fence, ok := guard.Fence(ctx); !ok || fence == 0 || k != key {
				t.Errorf("asked for %v with fence %d", k, fence)
			}
			return "found", true, nil
		})
		dies(t, w, p, key, find)
		g, j := process[string](t, w, p, find), work("a", 0)
		do(t, g, key, j, "found")
		do(t, process[string](t, w, p, find), key, j, "found")
		j.want(t, 0)
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	}},
	{"a resolver that finds it not done lets it be done, once", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		find := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) {
			time.Sleep(time.Second)
			return "", false, nil
		})
		dies(t, w, p, key, find)
		j := work("a", time.Second)
		guards := make([]*guard.Guard[string], 10)
		for i := range guards {
			guards[i] = process[string](t, w, p, find)
		}
		together(10, func(i int) {
			v, err := guards[i].Do(t.Context(), key, j.do)
			if err != nil && !errors.Is(err, guard.ErrDuplicate) || err == nil && v != "a" {
				t.Errorf("Do = %q, %v", v, err)
			}
		})
		j.want(t, 1)
	}},
	{"a resolver that does not know leaves it unknown, and says why", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		find := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "", true, errNo })
		dies(t, w, p, key, find)
		g, j := process[string](t, w, p, find), work("a", 0)
		err := fails(t, g, key, j, guard.ErrUnknown)
		wantErr(t, err, errNo)
		s, err := g.Lookup(t.Context(), key)
		if err != nil || s.State != engine.Unknown {
			t.Errorf("Lookup = %+v, %v", s, err)
		}
		j.want(t, 0)
	}},
	{"what is taken over stays what it was for, also in this process", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		find := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", true, nil })
		g := process[string](t, w, p, find)
		_, c := begin(t, g, key.For([]byte("x")))
		ok(t, c.Abandon())
		do(t, g, key, work("a", 0), "found")
		fails(t, g, key.For([]byte("y")), work("a", 0), guard.ErrMismatch)
		do(t, g, key.For([]byte("x")), work("a", 0), "found")
	}},
	{"what a resolver found is a result like any other", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		find := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", true, nil })
		dies(t, w, p, key, find)
		_, c, err := process[string](t, w, p, find).Begin(t.Context(), key)
		ok(t, err)
		if v, found := c.Result(); !found || v != "found" {
			t.Errorf("Result = %q, %v", v, found)
		}
		ok(t, c.Complete("x"))
		ok(t, c.Fail(errNo))
		ok(t, c.Abandon())
	}},
	{"a resolver is asked by the very next call, and its result returned even where none is kept", func(t *testing.T, w *world) {
		for _, after := range []guard.After{guard.Keep, guard.Free} {
			p := guard.Policy{Name: "order-" + string(after), OnUnknown: guard.Resolve, After: after}
			g := process[string](t, w, p, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", true, nil }))
			_, _ = g.Do(t.Context(), key, ways["doubt"])
			do(t, g, key, work("a", 0), "found")
		}
	}},
	{"of work that is missing everybody knows that nothing happened", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "guard: ") {
					t.Errorf("it panics with %v", err)
				}
			}()
			_, _ = g.Do(t.Context(), key, nil)
		}()
		do(t, g, key, work("a", 0), "a")
	}},
	{"a resolver that panics leaves it unknown", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		find := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { panic("boom") })
		dies(t, w, p, key, find)
		g := process[string](t, w, p, find)
		func() {
			defer func() { _ = recover() }()
			_, _ = g.Do(t.Context(), key, work("a", 0).do)
		}()
		if s, err := g.Lookup(t.Context(), key); err != nil || s.State != engine.Unknown {
			t.Errorf("Lookup = %+v, %v", s, err)
		}
	}},
}
