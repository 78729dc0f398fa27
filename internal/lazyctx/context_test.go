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
	errOver   = errors.New("it is over")
	errParent = errors.New("the parent is over")
)

type name struct{}

// TestContext checks that a Context behaves like one of context.WithCancelCause, whether
// Done is called never, before its end, or after.
func TestContext(t *testing.T) {
	listen := map[string]func(context.Context){
		"nobody listens":     func(context.Context) {},
		"Done is called":     func(c context.Context) { c.Done() },
		"a child is derived": func(c context.Context) { context.AfterFunc(c, func() {}) },
	}
	events := map[string]struct {
		do    func(end, endParent func())
		err   error
		cause error
	}{
		"nothing":              {func(func(), func()) {}, nil, nil},
		"its end":              {func(end, _ func()) { end() }, context.Canceled, errOver},
		"its parent's end":     {func(_, endParent func()) { endParent() }, context.Canceled, errParent},
		"its end, then that":   {func(end, endParent func()) { end(); endParent() }, context.Canceled, errOver},
		"that, then its end":   {func(end, endParent func()) { endParent(); end() }, context.Canceled, errParent},
		"that, and a deadline": {func(end, _ func()) { time.Sleep(time.Hour); end() }, context.DeadlineExceeded, context.DeadlineExceeded},
	}
	for how, hear := range listen {
		for what, e := range events {
			t.Run(how+", "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					timed, stop := context.WithTimeout(context.WithValue(context.Background(), name{}, "ann"), time.Minute)
					defer stop()
					parent, endParent := context.WithCancelCause(timed)
					var c lazyctx.Context
					c.Init(parent)
					hear(&c)
					e.do(func() { c.End(errOver) }, func() { endParent(errParent) })

					if err := c.Err(); !errors.Is(err, e.err) || (err == nil) != (e.err == nil) {
						t.Errorf("Err is %v, want %v", err, e.err)
					}
					if cause := context.Cause(&c); !errors.Is(cause, e.cause) || (cause == nil) != (e.cause == nil) {
						t.Errorf("Cause is %v, want %v", cause, e.cause)
					}
					select {
					case <-c.Done():
						if e.err == nil {
							t.Error("it is done")
						}
					default:
						if e.err != nil {
							t.Error("it is not done")
						}
					}
					if c.Value(name{}) != "ann" {
						t.Error("it has not what its parent has")
					}
					deadline, ok := c.Deadline()
					if want, _ := parent.Deadline(); !ok || !deadline.Equal(want) {
						t.Error("it has another deadline than its parent")
					}
					endParent(nil)
				})
			})
		}
	}
}

// TestChildren says that who derives from it is told of its end, and why.
func TestChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c lazyctx.Context
		c.Init(context.Background())
		child, cancel := context.WithTimeout(&c, time.Hour)
		defer cancel()
		told := false
		context.AfterFunc(&c, func() { told = true })
		c.End(errOver)
		synctest.Wait()
		if !errors.Is(context.Cause(child), errOver) || !told {
			t.Errorf("the child's cause is %v, and it was told: %v", context.Cause(child), told)
		}
	})
}

// TestRace has many listen while it ends.
func TestRace(t *testing.T) {
	for range 1000 {
		var c lazyctx.Context
		c.Init(t.Context())
		heard := make(chan struct{})
		for range 3 {
			go func() {
				<-c.Done()
				if errors.Is(context.Cause(&c), errOver) && c.Err() != nil {
					heard <- struct{}{}
				}
			}()
		}
		c.End(errOver)
		for range 3 {
			select {
			case <-heard:
			case <-time.After(10 * time.Second):
				t.Fatal("a listener was not notified")
			}
		}
	}
}
