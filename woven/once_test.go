package woven_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/woven"
)

func goexit() { runtime.Goexit() }

type order struct {
	No    string
	Total int
}

// placeOrder is a woven function with results.
func placeOrder(ctx context.Context, s *woven.Site, key woven.Key, work func(context.Context) error) (o order, n int, err error) {
	call := woven.Guarded(&err, &o, &n)
	defer call.Done()
	ctx = call.Once(ctx, s, key)
	if call.Refused {
		return
	}
	call.Later = false
	if err := work(ctx); err != nil {
		return order{}, 0, err
	}
	return order{"N-1", 7}, 3, nil
}

// fillOnce is a woven function without an error.
func fillOnce(ctx context.Context, s *woven.Site, key string, work func()) (n int) {
	call := woven.Guarded(nil, &n)
	defer call.Done()
	call.Once(ctx, s, woven.Key1(key))
	if call.Refused {
		return
	}
	call.Later = false
	work()
	return 1
}

func TestDuplicatesGetTheFirstResult(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		s, runs := site("once", "retain=1m"), 0
		for i := range 3 {
			o, n, err := placeOrder(ctx, s, woven.Key2("u1", 42), func(context.Context) error { runs++; return nil })
			if o != (order{"N-1", 7}) || n != 3 || err != nil {
				t.Errorf("call %d: got %v, %d, %v; want the first result", i+1, o, n, err)
			}
		}
		if runs != 1 {
			t.Errorf("the function ran %d times, want once", runs)
		}
		time.Sleep(time.Minute)
		if _, _, err := placeOrder(ctx, s, woven.Key2("u1", 42), func(context.Context) error { runs++; return nil }); err != nil || runs != 2 {
			t.Errorf("after Retain: %v and %d runs, want no error and 2", err, runs)
		}
	})
}

func TestOnDuplicate(t *testing.T) {
	for options, want := range map[string]struct {
		during, afterwards error
		skip               bool
	}{
		"":                    {during: guard.ErrDuplicate},
		"on-duplicate=refuse": {during: guard.ErrDuplicate, afterwards: guard.ErrDuplicate},
		"on-duplicate=wait":   {},
		"on-duplicate=skip":   {skip: true},
		"after=free":          {during: guard.ErrDuplicate},
	} {
		withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
			s := site("once", options)
			first, during := make(chan error), make(chan error)
			var got order
			go func() {
				_, _, err := placeOrder(ctx, s, woven.Key1("42"), func(context.Context) error { time.Sleep(time.Second); return nil })
				first <- err
			}()
			synctest.Wait()
			go func() {
				o, _, err := placeOrder(ctx, s, woven.Key1("42"), noWork)
				got = o
				during <- err
			}()
			if err := <-during; !errors.Is(err, want.during) {
				t.Errorf("%q, during the work: got %v, want %v", options, err, want.during)
			}
			if ran := got.No != ""; ran == (want.skip || want.during != nil) {
				t.Errorf("%q, during the work: got result %v; want a result only if the duplicate waited", options, got)
			}
			if err := <-first; err != nil {
				t.Errorf("%q, the first call: %v", options, err)
			}
			if o, _, err := placeOrder(ctx, s, woven.Key1("42"), noWork); !errors.Is(err, want.afterwards) || want.skip && (err != nil || o.No != "") {
				t.Errorf("%q, afterwards: got %v, %v; want %v", options, o, err, want.afterwards)
			}
		})
	}
}

func TestSubmitRefusesRepeatsForAWindow(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		s := site("submit", "message=patience message.zh=稍候")
		if _, _, err := placeOrder(ctx, s, woven.Key1("42"), noWork); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5*time.Second - time.Millisecond)
		_, _, err := placeOrder(ctx, s, woven.Key1("42"), noWork)
		var refused *woven.RefusedError
		if !errors.Is(err, guard.ErrDuplicate) || !errors.As(err, &refused) || refused.Message.In("en") != "patience" || refused.Message.In("zh-CN") != "稍候" {
			t.Errorf("within 5s: got %v, want ErrDuplicate with the message", err)
		}
		time.Sleep(time.Millisecond)
		if _, _, err := placeOrder(ctx, s, woven.Key1("42"), noWork); err != nil {
			t.Errorf("after 5s: got %v, want a run", err)
		}
	})
}

func TestAnErrorIsStoredOnlyWithOnErrorKeep(t *testing.T) {
	errWork := errors.New("broke")
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		s := site("once", "")
		if _, _, err := placeOrder(ctx, s, woven.Key1("42"), func(context.Context) error { return errWork }); !errors.Is(err, errWork) {
			t.Errorf("got %v, want the function's error", err)
		}
		if _, _, err := placeOrder(ctx, s, woven.Key1("42"), noWork); err != nil {
			t.Errorf("the next call returned %v, want a new run", err)
		}
		s = site("once", "on-error=keep")
		_, _, _ = placeOrder(ctx, s, woven.Key1("43"), func(context.Context) error { return errWork })
		_, _, err := placeOrder(ctx, s, woven.Key1("43"), noWork)
		if !errors.Is(err, guard.ErrFailed) || err.Error() != "broke" {
			t.Errorf("with on-error=keep: got %v, want ErrFailed with the text of the first error", err)
		}
	})
}

func TestPanicsAndGoexitAreUnknown(t *testing.T) {
	for name, work := range map[string]func(context.Context) error{
		"panic":                 func(context.Context) error { panic("boo") },
		"Goexit":                func(context.Context) error { goexit(); return nil },
		"Goexit during a panic": func(context.Context) error { defer goexit(); panic("boo") },
		"a runtime error":       func(context.Context) error { return []error{}[time.Now().Nanosecond()] },
	} {
		withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
			s := site("once", "on-unknown=hold")
			var p any
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { p = recover() }()
				_, _, _ = placeOrder(ctx, s, woven.Key1("42"), work)
			}()
			<-done
			if strings.HasPrefix(name, "Goexit") != (p == nil) {
				t.Errorf("%s: recovered %v; want the panic, or nil after Goexit", name, p)
			}
			if _, _, err := placeOrder(ctx, s, woven.Key1("42"), noWork); !errors.Is(err, guard.ErrUnknown) {
				t.Errorf("%s: the next call got %v, want ErrUnknown", name, err)
			}
		})
	}
}

func TestARecoveredPanicIsNotUnknown(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		s := site("once", "on-unknown=hold")
		for range 2 {
			o, _, err := placeOrder(ctx, s, woven.Key1("42"), func(context.Context) error {
				defer func() { _ = recover() }()
				panic("boo")
			})
			if err != nil || o.No != "N-1" {
				t.Errorf("got %v, %v; want the result", o, err)
			}
		}
	})
}

func TestOnceWithoutAnErrorResult(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		replay, skip, refuse := site("once", ""), site("submit", "on-duplicate=skip"), site("submit", "")
		for i, want := range []int{1, 1} {
			if n := fillOnce(ctx, replay, "a", func() {}); n != want {
				t.Errorf("replay, call %d: got %d, want %d", i+1, n, want)
			}
		}
		for i, want := range []int{1, 0} {
			if n := fillOnce(ctx, skip, "b", func() {}); n != want {
				t.Errorf("skip, call %d: got %d, want %d", i+1, n, want)
			}
		}
		fillOnce(ctx, refuse, "c", func() {})
		err, _ := recovered(func() { fillOnce(ctx, refuse, "c", func() {}) }).(error)
		if !errors.Is(err, guard.ErrDuplicate) {
			t.Errorf("refuse: recovered %v, want ErrDuplicate", err)
		}
	})
}

// Requirement T8: an empty key is refused.
func TestOnceRefusesAnEmptyKey(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		for _, key := range []woven.Key{woven.Key0(), woven.Key1(""), woven.Key2("", 1), woven.Key3("a", 1, "")} {
			_, _, err := placeOrder(ctx, site("once", ""), key, func(context.Context) error { t.Error("the function ran"); return nil })
			if !errors.Is(err, interlock.ErrKey) {
				t.Errorf("%+v: got %v, want ErrKey", key, err)
			}
		}
		if err, _ := recovered(func() { fillOnce(ctx, site("once", "on-duplicate=skip"), "", func() {}) }).(error); !errors.Is(err, interlock.ErrKey) {
			t.Errorf("without an error result: got %v, want a panic with ErrKey", err)
		}
	})
}

func TestScopes(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		s := site("once", "scope=user+key")
		if _, _, err := placeOrder(ctx, s, woven.Key2("a:1", "42"), noWork); err != nil {
			t.Fatal(err)
		}
		byHand := guard.Must(guard.New[int](client, guard.Policy{Name: "pay"}))
		if status, err := byHand.Lookup(ctx, guard.Of("a:1", "42")); err != nil || status.State != engine.Done {
			t.Errorf("by hand: got %+v, %v; want the same record", status, err)
		}
		route := guard.Must(guard.New[int](client, guard.Policy{Name: "pay", Scope: guard.PerRoute}))
		_, _, _ = placeOrder(ctx, site("once", "scope=user+route+key"), woven.Key2("b", "42"), noWork)
		key := guard.Key{User: "b", Route: "example.com/shop.(*Service).Pay", ID: "42"}
		if status, err := route.Lookup(ctx, key); err != nil || status.State != engine.Done {
			t.Errorf("by route: got %+v, %v; want the same record", status, err)
		}
	})
}

func TestOnceWhileTheEngineIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faulty := enginetest.NewFaulty(memory.New())
		var degraded []interlock.Degraded
		var failed []interlock.Failed
		client := interlock.New(faulty, interlock.WithTrace(&interlock.Trace{
			Degraded: func(e interlock.Degraded) { degraded = append(degraded, e) },
			Failed:   func(e interlock.Failed) { failed = append(failed, e) },
		}))
		defer client.Close(context.Background())
		ctx := interlock.NewContext(t.Context(), client)
		refuseAll(faulty)
		if _, _, err := placeOrder(ctx, site("once", ""), woven.Key1("42"), noWork); !errors.Is(err, guard.ErrDown) {
			t.Errorf("closed: got %v, want ErrDown", err)
		}
		if n := fillOnce(ctx, site("once", "on-duplicate=skip"), "42", func() {}); n != 0 {
			t.Error("closed, without an error result: the function ran")
		}
		if _, _, err := placeOrder(ctx, site("submit", ""), woven.Key1("42"), noWork); err != nil {
			t.Errorf("open: got %v, want a run", err)
		}
		if len(degraded) != 1 || degraded[0].Name != "submit-pay" || client.Stats().Unguarded != 1 {
			t.Errorf("unguarded runs: reported %+v and counted %d; want 1 of submit-pay", degraded, client.Stats().Unguarded)
		}
		if len(failed) != 2 || client.Stats().Failed != 2 {
			t.Errorf("failed runs: reported %+v and counted %d; want 2", failed, client.Stats().Failed)
		}
		faulty.Heal()
	})
}

func TestALostClaimReturnsErrLost(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		s := site("once", "lease=1s max-hold=2s")
		_, _, err := placeOrder(ctx, s, woven.Key1("42"), func(ctx context.Context) error { <-ctx.Done(); return nil })
		if !errors.Is(err, interlock.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
		synctest.Wait() // the loss is counted after the work was canceled
		if n := client.Stats().Lost; n != 1 {
			t.Errorf("the client counts %d lost claims, want 1", n)
		}
	})
}

func TestADerivedContextIsCancelledAfterTheRun(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		var derivedErr func() error
		_, _, err := placeOrder(ctx, site("once", ""), woven.Key1("42"), func(ctx context.Context) error {
			inner, cancel := context.WithCancel(ctx)
			t.Cleanup(cancel)
			derivedErr = inner.Err
			if interlock.From(inner) != interlock.From(ctx) {
				t.Error("the derived context has another client")
			}
			return inner.Err()
		})
		synctest.Wait()
		if err != nil || derivedErr() == nil {
			t.Errorf("got %v, derived context error %v; want no error and a cancelled context", err, derivedErr())
		}
	})
}

// onceAndLock is a function with two directives: once outside and lock inside.
func onceAndLock(ctx context.Context, once, lock *woven.Site, key string, work func(context.Context) error) (n int, err error) {
	call := woven.Guarded(&err, &n)
	defer call.Done()
	ctx = call.Once(ctx, once, woven.Key1(key))
	if call.Refused {
		return
	}
	ctx = call.Lock(ctx, lock, woven.Key1(key))
	if call.Refused {
		return
	}
	call.Later = false
	if err := work(ctx); err != nil {
		return 0, err
	}
	return 1, nil
}

// A call that the inner directive refuses did not run: its outcome is neither stored nor
// unknown.
func TestACallThatTheInnerDirectiveRefusesIsNotKept(t *testing.T) {
	for _, options := range []string{"wait=0", "wait=0 on-timeout=skip", "wait=0 on-timeout=panic", "wait=10s"} {
		withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
			once, lock := site("once", "on-unknown=hold on-error=keep"), site("lock", options)
			_, hold, err := client.Mutex("pay:42").Lock(ctx)
			if err != nil {
				t.Fatal(err)
			}
			deadline, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_ = recovered(func() {
				_, _ = onceAndLock(deadline, once, lock, "42", func(context.Context) error { t.Error("the function ran"); return nil })
			})
			_ = hold.Unlock()
			runs := 0
			for range 2 {
				n, err := onceAndLock(ctx, once, lock, "42", func(context.Context) error { runs++; return nil })
				if n != 1 || err != nil {
					t.Errorf("%s: got %d, %v; want 1", options, n, err)
				}
			}
			if runs != 1 {
				t.Errorf("%s: the function ran %d times, want once", options, runs)
			}
		})
	}
}

func TestARefusedRecursiveCallDoesNotUndoTheRun(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		once, lock, runs := site("once", ""), site("lock", "wait=0"), 0
		_, hold, _ := client.Mutex("pay:inner").Lock(ctx)
		defer hold.Unlock()
		for range 2 {
			_, err := onceAndLock(ctx, once, lock, "outer", func(ctx context.Context) error {
				runs++
				_, err := onceAndLock(ctx, once, lock, "inner", noWork)
				if !errors.Is(err, interlock.ErrContended) {
					t.Errorf("the inner call: got %v, want ErrContended", err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if runs != 1 {
			t.Errorf("the function ran %d times, want once", runs)
		}
	})
}

func TestARefusedInnerCallDoesNotUndoTheRun(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, client *interlock.Client) {
		once, lock, runs := site("once", ""), site("lock", "wait=0"), 0
		_, hold, _ := client.Mutex("pay:inner").Lock(ctx)
		defer hold.Unlock()
		for range 2 {
			_, _, err := placeOrder(ctx, once, woven.Key1("42"), func(ctx context.Context) error {
				runs++
				if _, err := pay(ctx, lock, "inner", noWork); !errors.Is(err, interlock.ErrContended) {
					t.Errorf("the inner call: got %v, want ErrContended", err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if runs != 1 {
			t.Errorf("the function ran %d times, want once", runs)
		}
	})
}

func TestACallWithoutDirectivesEndsNothing(t *testing.T) {
	new(woven.Call).Done(nil) // as in a function whose condition is false
	woven.Guarded(nil).Done()
}

// An engine of the user may panic while a lock is released. The upper directives end
// nevertheless, and a guard cannot know what happened.
func TestAPanicOfTheLowerDirectiveEndsTheUpperOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &brokenEngine{Engine: memory.New()}
		client := interlock.New(e)
		ctx := interlock.NewContext(t.Context(), client)
		once, lock := site("once", ""), site("lock", "")
		p := recovered(func() {
			_, _ = onceAndLock(ctx, once, lock, "42", func(context.Context) error { e.broken = true; return nil })
		})
		e.broken = false
		if p != "broken engine" {
			t.Errorf("recovered %v, want the panic of the engine", p)
		}
		if _, err := onceAndLock(ctx, once, lock, "42", noWork); !errors.Is(err, guard.ErrUnknown) {
			t.Errorf("the next call: got %v, want ErrUnknown", err)
		}
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// A brokenEngine panics while it is broken.
type brokenEngine struct {
	engine.Engine
	broken bool
}

func (e *brokenEngine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	if e.broken {
		panic("broken engine")
	}
	return e.Engine.Release(ctx, r)
}

func TestManyDirectivesEndInReverseOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		client := interlock.New(nil, interlock.WithTrace(&interlock.Trace{Released: func(r interlock.Released) { got = append(got, r.Key) }}))
		defer client.Close(context.Background())
		ctx := interlock.NewContext(t.Context(), client)
		var call woven.Call
		for _, key := range []string{"a", "b", "c", "d"} {
			call.Lock(ctx, site("lock", ""), woven.Key1(key), nil)
		}
		call.Done(nil)
		if want := []string{"pay:d", "pay:c", "pay:b", "pay:a"}; !slices.Equal(got, want) {
			t.Errorf("released %q, want %q", got, want)
		}
	})
}

// once calls a woven function that has these results and does nothing.
func once(ctx context.Context, s *woven.Site, key string, outs ...any) (refused bool, err error) {
	call := woven.Guarded(&err, outs...)
	defer call.Done()
	call.Once(ctx, s, woven.Key1(key))
	call.Later = false
	return call.Refused, err
}

func TestChangedResultTypesAreNotReplayed(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		s := site("once", "")
		_, _, _ = placeOrder(ctx, s, woven.Key1("42"), noWork)
		var (
			o order
			n int
			w string
		)
		if refused, err := once(ctx, s, "42", &n); !refused || !errors.Is(err, guard.ErrNoResult) {
			t.Errorf("one result fewer: refused %v with %v; want ErrNoResult", refused, err)
		}
		if refused, err := once(ctx, s, "42", &o); !refused || !errors.Is(err, guard.ErrNoResult) || o != (order{}) {
			t.Errorf("only the first result: refused %v with %v, got %v; want ErrNoResult and a zero value", refused, err, o)
		}
		if refused, err := once(ctx, s, "42", &o, &w); !refused || !errors.Is(err, guard.ErrNoResult) || o != (order{}) {
			t.Errorf("another type: refused %v with %v, got %v; want ErrNoResult and a zero value", refused, err, o)
		}
	})
}

type (
	secret struct{ No, pin string } //nolint:unused // JSON omits the field, which is the point
	tagged struct {
		No, Pin string `json:"-"`
	}
	deep    struct{ All []map[string]*secret }
	failing struct{ Err error }
	stamped struct {
		At   time.Time
		Rest any
		next *stamped
		_    int
	}
	tree     struct{ Left, Right *tree }
	embedded struct {
		order
		More int
	}
)

func (s *stamped) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"%v"`, s.next == nil), nil }
func (s *stamped) UnmarshalJSON([]byte) error   { return nil }

func TestResultsThatJSONLosesAreRefused(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		for _, c := range []struct {
			out  any
			want string
		}{
			{new(secret), "JSON omits woven_test.secret.pin"},
			{new(tagged), "the tag omits woven_test.tagged.No"},
			{new(deep), "JSON omits woven_test.secret.pin"},
			{new(failing), "JSON loses the dynamic type of error"},
			{new(chan int), "JSON cannot represent chan int"},
			{new(func()), "JSON cannot represent func()"},
			{new(complex128), "JSON cannot represent complex128"},
			{new(stamped), ""}, {new(tree), ""}, {new(embedded), ""}, {new(time.Time), ""}, {new(map[string]any), ""}, {new([3]*order), ""},
		} {
			refused, err := once(ctx, site("once", ""), fmt.Sprintf("%T", c.out), c.out)
			switch {
			case c.want == "" && refused:
				t.Errorf("%T: got %v, want a run", c.out, err)
			case c.want != "" && (!refused || !errors.Is(err, woven.ErrSite) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%T: refused %v with %v; want %s", c.out, refused, err, c.want)
			}
			if refused, err := once(ctx, site("submit", ""), fmt.Sprintf("%T", c.out), c.out); refused {
				t.Errorf("%T with submit, which keeps no result: got %v, want a run", c.out, err)
			}
		}
	})
}

func TestLongNamesAreShortenedForGuards(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		long := "github.com/acme/shop/internal/payments/services.(*PaymentService).Charge"
		one := &woven.Site{ID: "ilsite/1{once " + long + "}", Verb: "once"}
		two := &woven.Site{ID: "ilsite/1{once gitlab" + long[6:] + "}", Verb: "once"}
		runs := 0
		for _, s := range []*woven.Site{one, two, one, two} {
			if _, _, err := placeOrder(ctx, s, woven.Key1("42"), func(context.Context) error { runs++; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if runs != 2 {
			t.Errorf("two functions ran %d times in total, want 2", runs)
		}
	})
}

// withoutLedger is an engine without a ledger.
type withoutLedger struct{ *memory.Engine }

func (f withoutLedger) Capabilities() engine.Capabilities {
	caps := f.Engine.Capabilities()
	caps.Ledger = nil
	return caps
}

func TestOnceRunsNothingWithoutAGuard(t *testing.T) {
	withClient(t, func(t *testing.T, ctx context.Context, _ *interlock.Client) {
		ran := func(context.Context) error { t.Error("the function ran"); return nil }
		_, _, err := placeOrder(interlock.NewContext(ctx, interlock.New(withoutLedger{memory.New()})), site("once", ""), woven.Key1("42"), ran)
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("an engine without a ledger: got %v, want ErrUnsupported", err)
		}
		if _, _, err := placeOrder(ctx, site("once", "after=never"), woven.Key1("42"), ran); !errors.Is(err, woven.ErrSite) {
			t.Errorf("an invalid option: got %v, want ErrSite", err)
		}
		if _, _, err := placeOrder(ctx, &woven.Site{ID: "by hand", Verb: "lock"}, woven.Key1("42"), ran); !errors.Is(err, woven.ErrSite) {
			t.Errorf("the site of a lock: got %v, want ErrSite", err)
		}
	})
}

// Requirement T10: nine of ten duplicates in a process do not reach the engine.
func TestDuplicatesAreAnsweredInTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faulty := enginetest.NewFaulty(memory.New())
		ctx := interlock.NewContext(t.Context(), interlock.New(faulty))
		s, runs := site("submit", ""), 0
		for range 100 {
			_, _, _ = placeOrder(ctx, s, woven.Key1("42"), func(context.Context) error { runs++; return nil })
			time.Sleep(4 * time.Millisecond)
		}
		if asked := faulty.Calls(enginetest.OpClaim); runs != 1 || asked > 10 {
			t.Errorf("100 calls: %d runs and %d claims, want 1 and at most 10", runs, asked)
		}
	})
}

func TestFunctionsOfTheRuntimeThatRunDeferredCalls(t *testing.T) {
	for name, want := range map[string]bool{
		"runtime.gopanic":            true,
		"runtime.Goexit":             true,
		"runtime.deferreturn":        false,
		"example.com/shop.Pay":       false,
		"runtime.example.com/x.Pay":  false,
		"example.com/runtime.Goexit": false,
	} {
		if got := woven.Ends(name); got != want {
			t.Errorf("Ends(%q) = %v, want %v", name, got, want)
		}
	}
}
