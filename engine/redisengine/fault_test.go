package redisengine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// openFaulty opens an engine behind a faulty network.
func openFaulty(t *testing.T, s *redistest.Server, opts ...redisengine.Option) (*redisengine.Engine, *faultnet.Proxy) {
	t.Helper()
	p := faultnet.New(t, s.Addr())
	return openURL(t, "redis://"+p.Addr(), opts...), p
}

// warm loads the scripts, so that a call is one request.
func warm(t *testing.T, s *redistest.Server) {
	t.Helper()
	e, r := open(t, s), engine.Request{Key: "warm", Holder: ann, Attempt: "a", Lease: time.Minute}
	granted(t, e, r)
	renewed(t, e, r, nil)
	released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
	abandoned(t, e, r, engine.ReleaseResult{Outcome: engine.AlreadyFree})
}

func within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

func TestLostReplies(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	warm(t, s)

	t.Run("an acquire whose reply is lost is unknown, and granted when repeated", func(t *testing.T) {
		t.Parallel()
		e, p := openFaulty(t, s)
		r := request(t, ann, "a")
		released(t, e, r, engine.ReleaseResult{Outcome: engine.AlreadyFree}) // opens the connection
		p.CutAfterRequest()
		refused(t, e, r, engine.ErrUnknown)
		if g := granted(t, e, retry(r)); g.Count != 1 {
			t.Errorf("grant = %+v, want count 1", g)
		}
		released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
	})

	t.Run("a release whose reply is lost is unknown, and has happened", func(t *testing.T) {
		t.Parallel()
		e, p := openFaulty(t, s)
		r := request(t, ann, "a")
		granted(t, e, r)
		p.CutAfterRequest()
		if _, err := e.Release(context.Background(), r); !errors.Is(err, engine.ErrUnknown) {
			t.Errorf("Release: err = %v, want %v", err, engine.ErrUnknown)
		}
		eventually(t, "the lock is free", func() bool { return s.Must("EXISTS", r.Key) == "0" })
		released(t, e, r, engine.ReleaseResult{Outcome: engine.AlreadyFree})
	})

	t.Run("a renewal whose reply is lost is unknown for every lease in it", func(t *testing.T) {
		t.Parallel()
		e, p := openFaulty(t, s)
		a, b := request(t, ann, "a"), request(t, ann, "b")
		granted(t, e, a)
		p.CutAfterRequest()
		for _, err := range e.Renew(context.Background(), []engine.Request{a, b}) {
			if !errors.Is(err, engine.ErrUnknown) {
				t.Errorf("Renew: err = %v, want %v", err, engine.ErrUnknown)
			}
		}
	})

	t.Run("a context that ends during a call makes its outcome unknown at once", func(t *testing.T) {
		t.Parallel()
		e, p := openFaulty(t, s)
		r := request(t, ann, "a")
		p.BlackHole(faultnet.Replies, true)
		cause := errors.New("the user has disconnected")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
		began := time.Now()
		_, err := e.Acquire(ctx, r)
		for _, want := range []error{engine.ErrUnknown, context.Canceled, cause} {
			if !errors.Is(err, want) {
				t.Errorf("%v does not match %v", err, want)
			}
		}
		if d := time.Since(began); d > testTimeout/2 {
			t.Errorf("the canceled call took %v, want at most %v", d, testTimeout/2)
		}
	})

	t.Run("a deadline of one call does not close the connection of another", func(t *testing.T) {
		t.Parallel()
		e, p := openFaulty(t, s)
		p.Delay(faultnet.Replies, 300*time.Millisecond)
		before := p.Connections()
		ctx, cancel := within(50 * time.Millisecond)
		defer cancel()
		if _, err := e.Acquire(ctx, request(t, ann, "a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire: err = %v, want %v", err, context.DeadlineExceeded)
		}
		released(t, e, request(t, bob, "b"), engine.ReleaseResult{Outcome: engine.NotYours})
		if n := p.Connections(); n != before {
			t.Errorf("%d more connections were opened, want none", n-before)
		}
	})
}

// canceled returns a context without a deadline that is canceled after d.
func canceled(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	time.AfterFunc(d, cancel)
	return ctx, cancel
}

// lateRequests checks requests that arrive after their attempt was abandoned.
func lateRequests(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.SteppedClock)
	warm(t, s)

	// stuck holds an acquire of r on the network while its caller gives up and abandons it.
	stuck := func(t *testing.T, r engine.Request, limit func(context.Context, time.Duration) (context.Context, context.CancelFunc)) (arrive func()) {
		t.Helper()
		e, p := openFaulty(t, s)
		// This call tells the engine the server's clock. The fence is not the time.
		before := engine.Request{Key: r.Key + " before", Holder: ann, Attempt: "a", Lease: time.Second, Fenced: true}
		s.Must("SET", "redisson_lock_token:{"+before.Key+"}", "9000000000000000")
		granted(t, e, before)
		arrive = p.Hold(faultnet.Requests)
		t.Cleanup(arrive)
		ctx, cancel := limit(context.Background(), 100*time.Millisecond)
		defer cancel()
		if _, err := e.Acquire(ctx, r); !errors.Is(err, engine.ErrUnknown) {
			t.Fatalf("Acquire: err = %v, want %v", err, engine.ErrUnknown)
		}
		abandoned(t, open(t, s), r, engine.ReleaseResult{Outcome: engine.AlreadyFree})
		return arrive
	}
	// calls returns the number of scripts that the server has run.
	calls := func(t *testing.T) int64 {
		t.Helper()
		return number(t, s, "EVAL", "return tonumber(string.match(redis.call('INFO', 'commandstats'), 'cmdstat_evalsha:calls=(%d+)'))", "0")
	}

	t.Run("a repeated attempt is refused by its tombstone", func(t *testing.T) {
		r := retry(request(t, ann, "a"))
		arrive := stuck(t, r, canceled)
		before := calls(t)
		arrive()
		eventually(t, "the late request arrives", func() bool { return calls(t) > before })
		if s.Must("EXISTS", r.Key) != "0" {
			t.Error("the late attempt acquired the lock")
		}
	})

	t.Run("a first attempt is refused by the clock after the timeout", func(t *testing.T) {
		s.NeedsClock(t)
		r := request(t, ann, "a")
		arrive := stuck(t, r, canceled)
		s.Step(testTimeout)
		before := calls(t)
		arrive()
		eventually(t, "the late request arrives", func() bool { return calls(t) > before })
		if s.Must("EXISTS", r.Key) != "0" {
			t.Error("the late attempt acquired the lock")
		}
	})

	t.Run("a first attempt is refused by the clock after its caller's deadline", func(t *testing.T) {
		r := request(t, ann, "a")
		arrive := stuck(t, r, context.WithTimeout)
		before := calls(t)
		arrive()
		eventually(t, "the late request arrives", func() bool { return calls(t) > before })
		if s.Must("EXISTS", r.Key) != "0" {
			t.Error("the late attempt acquired the lock")
		}
	})

	t.Run("a first attempt is granted within the timeout, and can be abandoned again", func(t *testing.T) {
		r := request(t, ann, "a")
		arrive := stuck(t, r, canceled)
		arrive()
		eventually(t, "the late request acquires the lock", func() bool { return s.Must("EXISTS", r.Key) == "1" })
		abandoned(t, open(t, s), r, engine.ReleaseResult{Outcome: engine.Released})
	})

	t.Run("LateGrant is the timeout", func(t *testing.T) {
		if got := open(t, s).Capabilities().LateGrant; got != testTimeout {
			t.Errorf("LateGrant = %v, want %v", got, testTimeout)
		}
	})
}

func TestServerClock(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run("a clock that is set "+name+" refuses no punctual call", func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, redistest.SteppedClock)
			e := open(t, s)
			r := request(t, ann, "a")
			for range 3 {
				granted(t, e, r)
				released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
				s.Step(step)
			}
		})
	}

	t.Run("fences of a fenced lock rise however the clock is set", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, redistest.SteppedClock)
		e := open(t, s)
		r := fenced(request(t, ann, "a"), 5)
		var last uint64
		for _, step := range []time.Duration{0, -time.Hour, 20 * time.Second, -time.Minute} {
			s.Step(step)
			g := granted(t, e, r)
			if g.Fence <= last {
				t.Errorf("the fence after a step of %v is %d, want one above %d", step, g.Fence, last)
			}
			last = g.Fence + r.FenceReserve
			released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
		}
	})
}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	// The bound is far above the timeout, for a busy machine, and far below what one
	// timeout for each of the calls would take.
	const timeout, bound = 3 * time.Second, time.Minute

	t.Run("a call to a server that has stopped returns within the timeout and a second", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s, redisengine.Timeout(timeout))
		r := request(t, ann, "a")
		granted(t, e, r)
		s.Stop()
		for i := range 3 { // on the first connection, and on those that replace it
			began := time.Now()
			_, err := e.Release(context.Background(), r)
			d := time.Since(began)
			t.Logf("call %d: %v after %v", i, err, d)
			want := engine.ErrUnknown
			if i > 0 {
				want = engine.ErrUnavailable // the handshake had no answer
			}
			if !errors.Is(err, want) || d > bound {
				t.Errorf("call %d: %v after %v, want %v", i, err, d, want)
			}
		}
		s.Cont()
		eventually(t, "the engine works again", func() bool {
			_, err := e.Acquire(context.Background(), retry(r))
			return err == nil
		})
	})

	t.Run("a thousand renewals take no longer than one", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s, redisengine.Timeout(timeout))
		rs := make([]engine.Request, 1000)
		for i := range rs {
			rs[i] = request(t, ann, "a")
		}
		s.Stop()
		began := time.Now()
		errs := e.Renew(context.Background(), rs)
		if d := time.Since(began); d > bound {
			t.Errorf("the renewals took %v, want at most %v", d, bound)
		}
		if !errors.Is(errs[0], engine.ErrUnknown) || !errors.Is(errs[999], engine.ErrUnavailable) {
			t.Errorf("the first error is %v, the last %v; want ErrUnknown and ErrUnavailable", errs[0], errs[999])
		}
		s.Cont()
	})

	t.Run("closing does not wait for a server that has stopped", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s, redisengine.Timeout(timeout))
		wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: "k"})
		defer stop()
		awaitWake(t, wake)
		s.Stop()
		began := time.Now()
		_ = e.Close()
		if d := time.Since(began); d > bound {
			t.Errorf("Close took %v, want at most %v", d, bound)
		}
		s.Cont()
	})
}

func TestRestartedServer(t *testing.T) {
	t.Parallel()

	t.Run("a server that restarts with its data continues, without its scripts", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
		e := open(t, s)
		r := request(t, ann, "a")
		first := granted(t, e, r)
		s.Kill()
		eventually(t, "connections fail", func() bool {
			_, err := e.Acquire(context.Background(), retry(r))
			return errors.Is(err, engine.ErrUnavailable)
		})
		s.Restart()
		if again := granted(t, e, retry(r)); again != first {
			t.Errorf("the repeated attempt got %+v, want %+v as before", again, first)
		}
		renewed(t, e, r, nil)
		released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
	})

	t.Run("a server that restarts empty has lost the lock, and a renewal fails", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s)
		r := request(t, ann, "a")
		granted(t, e, r)
		s.Restart()
		eventually(t, "the engine works again", func() bool {
			return errors.Is(e.Renew(context.Background(), []engine.Request{r})[0], engine.ErrNotHolder)
		})
		if s.Must("EXISTS", r.Key) != "0" {
			t.Error("the renewal restored the lock")
		}
	})

	t.Run("scripts are sent again to a server that has lost them", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s)
		for range 2 {
			r := request(t, ann, "a")
			s.Must("SCRIPT", "FLUSH")
			granted(t, e, r)
			s.Must("SCRIPT", "FLUSH")
			renewed(t, e, r, nil)
			s.Must("SCRIPT", "FLUSH")
			released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
			s.Must("SCRIPT", "FLUSH")
			abandoned(t, e, r, engine.ReleaseResult{Outcome: engine.AlreadyFree})
		}
	})
}

func TestBadNetwork(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)

	t.Run("without a connection nothing is sent, and the error says so", func(t *testing.T) {
		t.Parallel()
		e, p := openFaulty(t, s)
		p.Refuse(true)
		p.Reset()
		r := request(t, ann, "a")
		eventually(t, "a call fails", func() bool {
			_, err := e.Release(context.Background(), r)
			return err != nil
		})
		p.Refuse(false)
		eventually(t, "the engine works again", func() bool {
			_, err := e.Acquire(context.Background(), retry(r))
			return err == nil
		})
	})

	t.Run("a caller that gives up connecting does not affect another", func(t *testing.T) {
		t.Parallel()
		e, p := openFaulty(t, s)
		r := request(t, ann, "a")
		granted(t, e, r)
		p.BlackHole(faultnet.Replies, true)
		p.Reset()
		ctx, cancel := within(200 * time.Millisecond)
		defer cancel()
		done := make(chan error)
		go func() {
			_, err := e.Release(ctx, r)
			done <- err
		}()
		<-time.After(50 * time.Millisecond)
		_, err := e.Release(context.Background(), r) // waits for the same connection
		if !errors.Is(err, engine.ErrUnavailable) && !errors.Is(err, engine.ErrUnknown) ||
			errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Release: err = %v, want ErrUnavailable or ErrUnknown, without the other caller's deadline", err)
		}
		if err := <-done; err == nil {
			t.Error("the first release succeeded without a connection")
		}
	})
}
