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

var strict = guard.Policy{Name: "order", OnUnknown: guard.Hold, Retain: 5 * time.Minute}

// errLost matches the error of a late result.
var errLost = interlock.ErrLost

// claimAndCrash claims k in a process that dies, and returns when its lease has expired.
func claimAndCrash(t *testing.T, w *world, p guard.Policy, k guard.Key, opts ...guard.Option) {
	t.Helper()
	g := remote[string](t, w, p, opts...)
	_, c := begin(t, g, k)
	w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
	lease := g.Policy().Lease
	time.Sleep(2 * lease)
	w.engine.Heal()
	wantErr(t, c.Complete("late"), errLost)
}

// unknownWork is work whose error makes the outcome unknown, by the kind of error.
var unknownWork = map[string]func(context.Context) (string, error){
	"deadline": func(ctx context.Context) (string, error) { return "", context.DeadlineExceeded },
	"network":  func(ctx context.Context) (string, error) { return "", fmt.Errorf("read: %w", os.ErrDeadlineExceeded) },
	"answer": func(ctx context.Context) (string, error) { // the Timeout method of url.Error does not find the wrapped timeout
		return "", &url.Error{Op: "Post", Err: fmt.Errorf("reading the answer: %w", context.DeadlineExceeded)}
	},
	"marked": func(ctx context.Context) (string, error) { return "", guard.OutcomeUnknown(errNo) },
}

var unknownLaws = []law{
	{"after a process dies, its outcome is unknown until Retain has passed", func(t *testing.T, w *world) {
		claimAndCrash(t, w, strict, key)
		g, j := process[string](t, w, strict), work("a", 0)
		for range 3 {
			var u *guard.UnknownError
			if err := fails(t, g, key, j, guard.ErrUnknown); !errors.As(err, &u) || u.Fence == 0 || u.Began.IsZero() || u.Left <= 0 {
				t.Errorf("Do = %+v, want an UnknownError with a fence, a start and the time left", err)
			}
			time.Sleep(time.Minute)
		}
		j.want(t, 0)
		time.Sleep(2 * time.Minute)
		do(t, g, key, j, "a")
	}},
	{"with Rerun the next call runs when the lease expires", func(t *testing.T, w *world) {
		claimAndCrash(t, w, rerun, key)
		g, j := process[string](t, w, rerun), work("a", 0)
		do(t, g, key, j, "a")
		do(t, g, key, j, "a")
		j.want(t, 1)
	}},
	{"with Hold, work that timed out or reports an unknown outcome is held", func(t *testing.T, w *world) {
		for name, way := range unknownWork {
			g, j, k := process[string](t, w, strict), work("a", 0), guard.Of("ann", name)
			if _, err := g.Do(t.Context(), k, way); err == nil {
				t.Errorf("%s: Do = nil, want an error", name)
			}
			fails(t, g, k, j, guard.ErrUnknown)
			fails(t, process[string](t, w, strict), k, j, guard.ErrUnknown)
			j.want(t, 0)
			if n := g.Stats().Endings[guard.LeftUnknown]; n != 1 {
				t.Errorf("%s: %d outcomes were left unknown, want 1", name, n)
			}
		}
	}},
	{"with Rerun work with an unknown outcome runs again", func(t *testing.T, w *world) {
		for name, way := range unknownWork {
			g, j, k := process[string](t, w, rerun), work("a", 0), guard.Of("ann", name)
			_, _ = g.Do(t.Context(), k, way)
			do(t, g, k, j, "a")
		}
	}},
	{"Fail with an unknown outcome, a timeout or an ended context is held as well", func(t *testing.T, w *world) {
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
	{"work that returns NotExecuted may run again, even after a timeout", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		_, err := g.Do(t.Context(), key, func(context.Context) (string, error) {
			return "", guard.NotExecuted(fmt.Errorf("dial: %w", os.ErrDeadlineExceeded))
		})
		wantErr(t, err, os.ErrDeadlineExceeded)
		do(t, g, key, work("a", 0), "a")
		if guard.NotExecuted(nil) != nil || guard.OutcomeUnknown(nil) != nil {
			t.Error("NotExecuted(nil) or OutcomeUnknown(nil) is not nil")
		}
	}},
	{"by default an unknown outcome is held for a day, and a result is kept as long", func(t *testing.T, w *world) {
		claimAndCrash(t, w, guard.Policy{Name: "pay"}, guard.Of("ann", "crash"))
		g, j := process[string](t, w, guard.Policy{Name: "pay"}), work("a", 0)
		fails(t, g, guard.Of("ann", "crash"), j, guard.ErrUnknown)
		for name, way := range unknownWork {
			_, err := g.Do(t.Context(), guard.Of("ann", name), way)
			if err == nil {
				t.Errorf("%s: Do = nil, want an error", name)
			}
			fails(t, g, guard.Of("ann", name), j, guard.ErrUnknown)
		}
		_, c := begin(t, g, key)
		ok(t, c.Abandon())
		time.Sleep(23 * time.Hour)
		fails(t, g, key, j, guard.ErrUnknown)
		time.Sleep(time.Hour)
		for range 2 {
			do(t, g, key, j, "a")
			time.Sleep(23 * time.Hour)
		}
		time.Sleep(2 * time.Hour)
		do(t, g, key, j, "a")
		j.want(t, 2)
	}},
	{"every failing resolver call and its caller see the original work's fence and start", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		g := process[string](t, w, p, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "", false, errNo }))
		_, c := begin(t, g, key)
		fence, began := c.Fence(), time.Now()
		ok(t, c.Abandon())
		for i := range 2 {
			time.Sleep(time.Minute)
			var u *guard.UnknownError
			if err := fails(t, g, key, work("a", 0), guard.ErrUnknown); !errors.As(err, &u) || u.Fence < fence || u.Began.Before(began) {
				t.Errorf("Do = %+v, want an UnknownError with at least the original fence and start", err)
			} else if i == 0 && (u.Fence != fence || !u.Began.Equal(began)) {
				t.Errorf("the error names fence %d since %v, want %d since %v", u.Fence, u.Began, fence, began)
			}
		}
	}},
	{"an UnknownError gives the start by the engine's clock", func(t *testing.T, w *world) {
		w.memory.Step(time.Hour)
		g, otherProcess := process[string](t, w, strict), process[string](t, w, strict)
		began := time.Now().Add(time.Hour)
		_, c := begin(t, g, key)
		time.Sleep(time.Second)
		ok(t, c.Abandon())
		asked := claims(w)
		for _, from := range []*guard.Guard[string]{g, otherProcess} { // from the cache of the process that did the work, and from the engine
			var u *guard.UnknownError
			if err := fails(t, from, key, work("a", 0), guard.ErrUnknown); !errors.As(err, &u) || !u.Began.Equal(began) {
				t.Errorf("Do = %+v, want an UnknownError with the start %v", err, began)
			}
		}
		if n := claims(w) - asked; n != 1 && !w.inProcess {
			t.Errorf("%d calls asked the engine, want 1", n)
		}
	}},
	{"an error after the context ended is an unknown outcome", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := g.Do(ctx, key, func(ctx context.Context) (string, error) {
			cancel(errNo)
			return "", errors.New("driver: bad connection")
		})
		if err == nil {
			t.Error("Do = nil, want an error")
		}
		fails(t, g, key, work("a", 0), guard.ErrUnknown)
	}},
	{"a panic is passed on, and the outcome is held", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", 0)
		func() {
			defer func() {
				if p := recover(); p != "boom" {
					t.Errorf("recovered %v, want boom", p)
				}
			}()
			_, _ = g.Do(t.Context(), key, func(context.Context) (string, error) { panic("boom") })
		}()
		fails(t, g, key, j, guard.ErrUnknown)
		j.want(t, 0)
	}},
	{"an abandoned claim is held", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", 0)
		_, c := begin(t, g, key)
		ok(t, c.Abandon())
		ok(t, c.Abandon())
		fails(t, process[string](t, w, strict), key, j, guard.ErrUnknown)
	}},
	{"a guard with Rerun does not take over what a guard with Hold holds", func(t *testing.T, w *world) {
		_, c := begin(t, process[string](t, w, strict), key)
		ok(t, c.Abandon())
		claimAndCrash(t, w, strict, guard.Of("ann", "crash"))
		weak := process[string](t, w, rerun)
		for _, k := range []guard.Key{key, guard.Of("ann", "crash")} {
			fails(t, weak, k, work("a", 0), guard.ErrUnknown)
			fails(t, process[string](t, w, strict), k, work("a", 0), guard.ErrUnknown)
			ok(t, weak.Forget(t.Context(), k))
			do(t, weak, k, work("a", 0), "a")
		}
	}},
	{"two guards of one name on one client have the same OnUnknown", func(t *testing.T, w *world) {
		client := interlock.New(w.engine)
		first, err := guard.New[string](client, strict)
		ok(t, err)
		_, err = guard.New[string](client, rerun)
		wantErr(t, err, guard.ErrPolicy)
		_, err = guard.New[string](client.With(interlock.Wait(time.Second)), rerun) // the same client
		wantErr(t, err, guard.ErrPolicy)
		same, err := guard.New[int](client, guard.Charge(strict.Name))
		ok(t, err)
		otherGuard, err := guard.New[string](client.With(interlock.Prefix("other:")), rerun) // other keys
		ok(t, err)
		replacing, err := guard.New[string](client, rerun, guard.Replacing())
		ok(t, err)
		ok(t, first.Close(t.Context()))
		_, err = guard.New[string](client, rerun)
		wantErr(t, err, guard.ErrPolicy) // the second guard is open
		ok(t, same.Close(t.Context()))
		last, err := guard.New[string](client, rerun)
		ok(t, err)
		for _, g := range []*guard.Guard[string]{otherGuard, replacing, last} {
			ok(t, g.Close(t.Context()))
		}
		ok(t, client.Close(t.Context()))
	}},
	{"an unknown outcome is kept for Retain after the last renewal", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Hold, Retain: time.Minute, Lease: 10 * time.Second}
		g, j := remote[string](t, w, p), work("a", 0)
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
	{"an unknown outcome is visible even if Retain is shorter than the lease or the window", func(t *testing.T, w *world) {
		for _, p := range []guard.Policy{
			{Name: "order", OnUnknown: guard.Hold, Retain: time.Second},
			{Name: "form", OnUnknown: guard.Hold, After: guard.Window, Window: 10 * time.Minute},
		} {
			_, c := begin(t, remote[string](t, w, p), key)
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
			time.Sleep(max(guard.DefaultLease, p.Window) + time.Millisecond)
			fails(t, process[string](t, w, p), key, work("a", 0), guard.ErrUnknown)
			wantErr(t, c.Complete("late"), errLost)
			w.engine.Heal()
		}
	}},

	// Resolve.
	{"a result found by the resolver is replayed to all callers", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		asked := 0
		find := guard.Resolver(func(ctx context.Context, k guard.Key) (string, bool, error) {
			asked++
			if fence, ok := guard.Fence(ctx); !ok || fence == 0 || k != key {
				t.Errorf("the resolver got %v and fence %d, want %v and the claim's fence", k, fence, key)
			}
			return "found", true, nil
		})
		claimAndCrash(t, w, p, key, find)
		g, j := process[string](t, w, p, find), work("a", 0)
		do(t, g, key, j, "found")
		do(t, process[string](t, w, p, find), key, j, "found")
		j.want(t, 0)
		if asked != 1 {
			t.Errorf("the resolver was called %d times, want once", asked)
		}
	}},
	{"if the resolver finds no effect, the work runs once", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		find := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) {
			time.Sleep(time.Second)
			return "", false, nil
		})
		claimAndCrash(t, w, p, key, find)
		j := work("a", time.Second)
		guards := make([]*guard.Guard[string], 10)
		for i := range guards {
			guards[i] = process[string](t, w, p, find)
		}
		together(10, func(i int) {
			v, err := guards[i].Do(t.Context(), key, j.do)
			if err != nil && !errors.Is(err, guard.ErrDuplicate) || err == nil && v != "a" {
				t.Errorf("Do = %q, %v; want a or a duplicate", v, err)
			}
		})
		j.want(t, 1)
	}},
	{"a resolver error leaves the outcome unknown and reaches the caller", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		find := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "", true, errNo })
		claimAndCrash(t, w, p, key, find)
		g, j := process[string](t, w, p, find), work("a", 0)
		err := fails(t, g, key, j, guard.ErrUnknown)
		wantErr(t, err, errNo)
		s, err := g.Lookup(t.Context(), key)
		if err != nil || s.State != engine.Unknown {
			t.Errorf("Lookup = %+v, %v; want unknown", s, err)
		}
		j.want(t, 0)
	}},
	{"a claim that is taken over keeps its fingerprint", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		find := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", true, nil })
		g := process[string](t, w, p, find)
		_, c := begin(t, g, key.For([]byte("x")))
		ok(t, c.Abandon())
		do(t, g, key, work("a", 0), "found")
		fails(t, g, key.For([]byte("y")), work("a", 0), guard.ErrMismatch)
		do(t, g, key.For([]byte("x")), work("a", 0), "found")
	}},
	{"a result found by the resolver is kept like any other", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		find := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", true, nil })
		claimAndCrash(t, w, p, key, find)
		_, c, err := process[string](t, w, p, find).Begin(t.Context(), key)
		ok(t, err)
		if v, found := c.Result(); !found || v != "found" {
			t.Errorf("Result = %q, %v; want found, true", v, found)
		}
		ok(t, c.Complete("x"))
		ok(t, c.Fail(errNo))
		ok(t, c.Abandon())
	}},
	{"the next call calls the resolver and gets its result, even if none is kept", func(t *testing.T, w *world) {
		for _, after := range []guard.After{guard.Keep, guard.Free} {
			p := guard.Policy{Name: "order-" + string(after), OnUnknown: guard.Resolve, After: after}
			g := process[string](t, w, p, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", true, nil }))
			_, _ = g.Do(t.Context(), key, unknownWork["marked"])
			do(t, g, key, work("a", 0), "found")
		}
	}},
	{"a nil function leaves the key free", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "guard: ") {
					t.Errorf("Do panicked with %v, want an error of package guard", err)
				}
			}()
			_, _ = g.Do(t.Context(), key, nil)
		}()
		do(t, g, key, work("a", 0), "a")
	}},
	{"a resolver that panics leaves the outcome unknown", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		find := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { panic("boom") })
		claimAndCrash(t, w, p, key, find)
		g := process[string](t, w, p, find)
		func() {
			defer func() { _ = recover() }()
			_, _ = g.Do(t.Context(), key, work("a", 0).do)
		}()
		if s, err := g.Lookup(t.Context(), key); err != nil || s.State != engine.Unknown {
			t.Errorf("Lookup = %+v, %v; want unknown", s, err)
		}
	}},
}
