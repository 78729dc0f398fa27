package lazyctx_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/lazyctx"
)

var (
	errEnded  = errors.New("the context ended")
	errParent = errors.New("the parent ended")
)

type name struct{}

// TestContext checks that a Context behaves like one of context.WithCancelCause. It makes no
// difference whether Done is called before the context ends, or only after.
func TestContext(t *testing.T) {
	listen := map[string]func(context.Context){
		"Done is not called": func(context.Context) {},
		"Done is called":     func(c context.Context) { c.Done() },
		"a child is derived": func(c context.Context) { context.AfterFunc(c, func() {}) },
	}
	events := map[string]struct {
		do    func(end, endParent func())
		err   error
		cause error
	}{
		"no event":                          {func(func(), func()) {}, nil, nil},
		"it ends":                           {func(end, _ func()) { end() }, context.Canceled, errEnded},
		"its parent ends":                   {func(_, endParent func()) { endParent() }, context.Canceled, errParent},
		"it ends, then its parent":          {func(end, endParent func()) { end(); endParent() }, context.Canceled, errEnded},
		"its parent ends, then it":          {func(end, endParent func()) { endParent(); end() }, context.Canceled, errParent},
		"its deadline passes, then it ends": {func(end, _ func()) { time.Sleep(time.Hour); end() }, context.DeadlineExceeded, context.DeadlineExceeded},
	}
	for mode, use := range listen {
		for what, e := range events {
			t.Run(mode+", "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					timed, stop := context.WithTimeout(context.WithValue(context.Background(), name{}, "ann"), time.Minute)
					defer stop()
					parent, endParent := context.WithCancelCause(timed)
					var c lazyctx.Context
					c.Init(parent)
					use(&c)
					e.do(func() { c.End(errEnded) }, func() { endParent(errParent) })

					if err := c.Err(); !errors.Is(err, e.err) || (err == nil) != (e.err == nil) {
						t.Errorf("Err() = %v, want %v", err, e.err)
					}
					if cause := context.Cause(&c); !errors.Is(cause, e.cause) || (cause == nil) != (e.cause == nil) {
						t.Errorf("Cause = %v, want %v", cause, e.cause)
					}
					select {
					case <-c.Done():
						if e.err == nil {
							t.Error("the context is done, want it live")
						}
					default:
						if e.err != nil {
							t.Error("the context is live, want it done")
						}
					}
					if c.Value(name{}) != "ann" {
						t.Error("the context does not have its parent's value")
					}
					deadline, ok := c.Deadline()
					if want, _ := parent.Deadline(); !ok || !deadline.Equal(want) {
						t.Error("the context's deadline differs from its parent's")
					}
					endParent(nil)
				})
			})
		}
	}
}

// TestChildren checks that contexts derived from a Context end with it and its cause.
func TestChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c lazyctx.Context
		c.Init(context.Background())
		child, cancel := context.WithTimeout(&c, time.Hour)
		defer cancel()
		called := false
		context.AfterFunc(&c, func() { called = true })
		c.End(errEnded)
		synctest.Wait()
		if !errors.Is(context.Cause(child), errEnded) || !called {
			t.Errorf("the child's cause is %v, and AfterFunc was called: %v; want %v and true", context.Cause(child), called, errEnded)
		}
	})
}

// TestRace calls Done in several goroutines while the context ends.
func TestRace(t *testing.T) {
	for range 1000 {
		var c lazyctx.Context
		c.Init(t.Context())
		ended := make(chan struct{})
		for range 3 {
			go func() {
				<-c.Done()
				if errors.Is(context.Cause(&c), errEnded) && c.Err() != nil {
					ended <- struct{}{}
				}
			}()
		}
		c.End(errEnded)
		for range 3 {
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Fatal("Done was not closed for a goroutine, or Cause and Err were not set")
			}
		}
	}
}
