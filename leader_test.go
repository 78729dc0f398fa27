package interlock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
)

// TestLeader checks the laws of leaders in virtual time.
func TestLeader(t *testing.T) {
	for _, l := range leaderLaws {
		t.Run(l.sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkLaw(t, l) })
		})
	}
}

var leaderLaws = []law{
	{"of two candidates one leads, and the other follows when the first resigns", func(t *testing.T, w *world) {
		first, second := w.client.Leader("job:1"), w.another().Leader("job:1")
		ctx, hold := campaign(t, t.Context(), first)
		elected := make(chan *interlock.Hold, 1)
		go func() {
			_, hold, err := second.Campaign(t.Context())
			if err != nil {
				t.Error(err)
			}
			elected <- hold
		}()
		time.Sleep(time.Hour)
		if len(elected) > 0 || ctx.Err() != nil {
			t.Error("a second candidate was elected while the first led")
		}
		if err := first.Resign(); err != nil {
			t.Error(err)
		}
		wantErr(t, context.Cause(ctx), interlock.ErrReleased)
		wantIn(t, 0, time.Second, func() {
			next := <-elected
			if next.Fence() <= hold.Fence() {
				t.Errorf("the fences are %d and %d, want them to rise", hold.Fence(), next.Fence())
			}
			unlock(t, next)
		})
	}},
	{"the leader of a dead process is replaced when its lease expires", func(t *testing.T, w *world) {
		ctx, hold := campaign(t, t.Context(), w.client.Leader("job:1"))
		time.Sleep(15 * time.Second)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.Refuse})
		second := w.another().Leader("job:1")
		wantIn(t, lease-10*time.Second, lease+time.Second, func() {
			_, next := campaign(t, t.Context(), second)
			if ctx.Err() == nil {
				t.Error("the first leader still leads")
			}
			wantErr(t, context.Cause(ctx), interlock.ErrLost)
			if next.Fence() <= hold.Fence() {
				t.Errorf("the fences are %d and %d, want them to rise", hold.Fence(), next.Fence())
			}
			unlock(t, next)
		})
		wantErr(t, hold.Unlock(), interlock.ErrLost)
	}},
	{"a campaign ends with its context, and leaves no leader", func(t *testing.T, w *world) {
		_, hold := campaign(t, t.Context(), w.client.Leader("job:1"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		second := w.another()
		_, _, err := second.Leader("job:1").Campaign(ctx)
		wantErr(t, err, context.DeadlineExceeded)
		wantErr(t, err, interlock.ErrContended)
		unlock(t, hold)
		wantFree(t, second.Mutex("job:1"))
	}},
	{"owners and Reentrant do not share a leadership", func(t *testing.T, w *world) {
		owner := interlock.WithOwner(t.Context(), "payments")
		held, hold := campaign(t, owner, w.client.Leader("job:1", interlock.Reentrant()))
		ctx, cancel := context.WithTimeout(owner, time.Minute)
		defer cancel()
		_, _, err := w.another().Leader("job:1").Campaign(ctx)
		wantErr(t, err, interlock.ErrContended)
		_, _, err = w.client.Leader("job:1", interlock.Reentrant()).Campaign(held)
		wantErr(t, err, interlock.ErrContended)
		unlock(t, hold)
	}},
	{"an engine that is down elects no leader, and Campaign says so", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		wantIn(t, 3*time.Second, 6*time.Second, func() {
			_, _, err := w.client.Leader("job:1").Campaign(t.Context())
			wantErr(t, err, interlock.ErrUnavailable)
		})
	}},
	{"a leader that cannot announce itself does not lead", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Refuse})
		_, _, err := w.client.Leader("job:1").Campaign(t.Context())
		wantErr(t, err, interlock.ErrUnavailable)
		wantFree(t, w.client.Mutex("job:1"))
	}},
	{"a leader whose announcement got no answer announces itself again, in the same term", func(t *testing.T, w *world) {
		c := w.on(&lossy{Engine: w.engine})
		_, hold := campaign(t, t.Context(), c.Leader("job:1", interlock.Announce("a")))
		now, err := w.client.Leader("job:1").Current(t.Context())
		if err != nil || now.Term != 1 || now.Value != "a" || now.Fence != hold.Fence() {
			t.Errorf("Current = %+v, %v, want term 1 with fence %d", now, err, hold.Fence())
		}
		unlock(t, hold)
	}},
	{"a lock of this process alone elects no leader", func(t *testing.T, w *world) {
		c := w.on(degraded{w.engine})
		_, _, err := c.Leader("job:1").Campaign(t.Context())
		wantErr(t, err, interlock.ErrUnavailable)
		wantFree(t, w.client.Mutex("job:1"))
	}},
	{"without notes there are leaders, but no announcements", func(t *testing.T, w *world) {
		c := w.on(noteless{w.engine})
		_, _, err := c.Leader("job:1", interlock.Announce("a")).Campaign(t.Context())
		wantErr(t, err, errors.ErrUnsupported)
		_, hold := campaign(t, t.Context(), c.Leader("job:1"))
		now, err := c.Leader("job:1").Current(t.Context())
		if err != nil || now.Fence != hold.Fence() || now.Term != 0 {
			t.Errorf("Current = %+v, %v, want the fence %d and no term", now, err, hold.Fence())
		}
		unlock(t, hold)
	}},
	{"options and keys are checked", func(t *testing.T, w *world) {
		for _, l := range []*interlock.Leader{
			w.client.Leader("job:1", interlock.Announce(strings.Repeat("x", 1025))),
			w.client.Leader(strings.Repeat("x", 1020)),
			w.client.Leader(""),
		} {
			if _, _, err := l.Campaign(t.Context()); !errors.Is(err, interlock.ErrOption) && !errors.Is(err, interlock.ErrKey) {
				t.Errorf("Campaign of %.10q = %v, want ErrOption or ErrKey", l.Key(), err)
			}
			if err := l.Run(t.Context(), func(context.Context) error { return nil }); !errors.Is(err, interlock.ErrOption) && !errors.Is(err, interlock.ErrKey) {
				t.Errorf("Run of %.10q = %v, want ErrOption or ErrKey", l.Key(), err)
			}
			if _, err := l.Current(t.Context()); err == nil {
				t.Errorf("Current of %.10q succeeded", l.Key())
			}
		}
	}},
	{"observers see each leader, the time without one, and what each announced", func(t *testing.T, w *world) {
		sightings := observe(t, w.another())
		if s := next(t, sightings); s.Fence != 0 || s.Gap {
			t.Errorf("before the first leader: %+v, want no leader", s)
		}
		for term, c := range []*interlock.Client{w.client, w.another(interlock.Name("shop"))} {
			value := fmt.Sprint("host ", term, ":80")
			_, hold := campaign(t, t.Context(), c.Leader("job:1", interlock.Announce(value)))
			got := next(t, sightings)
			want := interlock.Leadership{Holder: hold.Holder(), Fence: hold.Fence(), Value: value, Term: uint64(term + 1), Since: got.Since, Client: got.Client}
			if got != want {
				t.Errorf("leader %d: %+v, want %+v", term, got, want)
			}
			time.Sleep(time.Hour)
			unlock(t, hold)
			wantIn(t, 0, time.Millisecond, func() { // the engine notifies
				if s := next(t, sightings); s.Fence != 0 {
					t.Errorf("after the resignation: %+v, want no leader", s)
				}
			})
		}
	}},
	{"an observer that missed a leader is told", func(t *testing.T, w *world) {
		_, first := campaign(t, t.Context(), w.client.Leader("job:1"))
		sightings := observe(t, w.another())
		if s := next(t, sightings); s.Term != 1 || s.Gap || s.Self {
			t.Errorf("the first sighting is %+v, want term 1 without a gap", s)
		}
		synctest.Wait()
		unlock(t, first)
		var last *interlock.Hold
		for range 3 { // faster than an observer
			_, last = campaign(t, t.Context(), w.client.Leader("job:1"))
			if last.Fence() <= first.Fence() {
				t.Error("the fences do not rise")
			}
			unlock(t, last)
		}
		_, last = campaign(t, t.Context(), w.client.Leader("job:1"))
		s := next(t, sightings)
		for s.Term != 5 {
			s = next(t, sightings)
		}
		if !s.Gap {
			t.Errorf("the sighting is %+v, want a gap", s)
		}
		unlock(t, last)
		next(t, sightings)
		_, last = campaign(t, t.Context(), w.client.Leader("job:1"))
		if s := next(t, sightings); s.Term != 6 || s.Gap {
			t.Errorf("the sighting is %+v, want term 6 without a gap", s)
		}
		unlock(t, last)
	}},
	{"a leader that came and went unseen is a gap before the next", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpNotify, Do: enginetest.Mute})
		sightings := observe(t, w.another())
		next(t, sightings)
		time.Sleep(time.Minute)
		lead := func() *interlock.Hold {
			_, hold := campaign(t, t.Context(), w.client.Leader("job:1"))
			return hold
		}
		unlock(t, lead()) // term 1, before the first that is observed
		time.Sleep(time.Minute)
		hold := lead()
		if s := next(t, sightings); s.Term != 2 || !s.Gap {
			t.Errorf("the sighting is %+v, want term 2 with a gap", s)
		}
		unlock(t, hold)
		unlock(t, lead()) // term 3, between two looks
		next(t, sightings)
		hold = lead()
		if s := next(t, sightings); s.Term != 4 || !s.Gap {
			t.Errorf("the sighting is %+v, want term 4 with a gap", s)
		}
		unlock(t, hold)
	}},
	{"a leader after the engine has lost its data is a gap, even in the same term", func(t *testing.T, w *world) {
		eng := &replaced{Engine: w.engine}
		sightings := observe(t, w.on(eng))
		next(t, sightings)
		_, hold := campaign(t, t.Context(), w.client.Leader("job:1"))
		if s := next(t, sightings); s.Term != 1 || s.Gap {
			t.Errorf("the sighting is %+v, want term 1 without a gap", s)
		}
		fresh := memory.New()
		eng.fresh.Store(fresh)
		if s := next(t, sightings); s.Fence != 0 {
			t.Errorf("the sighting is %+v, want no leader", s)
		}
		other := w.on(fresh)
		_, second := campaign(t, t.Context(), other.Leader("job:1"))
		if s := next(t, sightings); s.Term != 1 || !s.Gap {
			t.Errorf("the sighting is %+v, want term 1 with a gap", s)
		}
		unlock(t, second)
		unlock(t, hold)
	}},
	{"a function that Resign asks to return leads until it has returned, however early Resign is called", func(t *testing.T, w *world) {
		l, other := w.client.Leader("job:1"), w.another().Mutex("job:1")
		for range 300 {
			ctx, stop := context.WithCancel(t.Context())
			var entered atomic.Bool
			resigned := make(chan struct{})
			go func() {
				defer close(resigned)
				for !entered.Load() {
					if err := l.Resign(); err != nil {
						t.Error(err)
					}
					runtime.Gosched()
				}
			}()
			_ = l.Run(ctx, func(context.Context) error {
				entered.Store(true)
				if _, hold, err := other.TryLock(t.Context()); err == nil {
					t.Error("another caller got the lock while the function of the leader ran")
					unlock(t, hold)
				}
				stop()
				return nil
			})
			<-resigned
		}
	}},
	{"an error of a function that Resign asked to return is logged", func(t *testing.T, w *world) {
		var log strings.Builder
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		defer slog.SetDefault(before)
		l := w.client.Leader("job:1")
		ctx, stop := context.WithCancel(t.Context())
		terms := 0
		_ = l.Run(ctx, func(ctx context.Context) error {
			if err := l.Resign(); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			if terms++; terms == 1 {
				return context.Cause(ctx)
			}
			if terms == 3 {
				stop()
			}
			return errors.New("the checkpoint was not written")
		})
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "checkpoint") {
			t.Errorf("the log has %d errors, want one about the checkpoint:\n%s", n, log.String())
		}
	}},
	{"an observer does not spin while the engine reports a lease that is about to expire", func(t *testing.T, w *world) {
		_, hold := campaign(t, t.Context(), w.client.Leader("job:1"))
		eng := &expiring{Engine: w.engine}
		sightings := observe(t, w.on(eng))
		next(t, sightings)
		time.Sleep(time.Minute)
		if n := eng.looks.Load(); n > 2000 {
			t.Errorf("the observer looked %d times in a minute", n)
		}
		unlock(t, hold)
	}},
	{"a leader that was deposed before it announced itself does not hide its successor", func(t *testing.T, w *world) {
		var successor *interlock.Hold
		eng := &interrupted{Engine: w.engine}
		eng.beforeRead = func() {
			if _, err := w.client.ForceRelease(t.Context(), "job:1"); err != nil {
				t.Error(err)
			}
			_, successor = campaign(t, t.Context(), w.another().Leader("job:1"))
		}
		if _, _, err := w.on(eng).Leader("job:1").Campaign(t.Context()); !errors.Is(err, interlock.ErrLost) {
			t.Errorf("Campaign of the deposed leader = %v, want ErrLost", err)
		}
		now, err := w.client.Leader("job:1").Current(t.Context())
		if err != nil || now.Fence != successor.Fence() {
			t.Errorf("Current = %+v, %v, want the fence %d", now, err, successor.Fence())
		}
		unlock(t, successor)
	}},
	{"a handover within a process is a new term with a higher fence", func(t *testing.T, w *world) {
		sightings := observe(t, w.another())
		next(t, sightings)
		_, first := campaign(t, t.Context(), w.client.Leader("job:1"))
		if s := next(t, sightings); s.Term != 1 || s.Fence != first.Fence() {
			t.Errorf("the sighting is %+v, want term 1 with fence %d", s, first.Fence())
		}
		elected := make(chan *interlock.Hold)
		go func() {
			_, hold, _ := w.client.Leader("job:1").Campaign(t.Context())
			elected <- hold
		}()
		synctest.Wait()
		unlock(t, first)
		second := <-elected
		s := next(t, sightings)
		if s.Fence == 0 {
			s = next(t, sightings)
		}
		if s.Term != 2 || s.Fence != second.Fence() || s.Fence <= first.Fence() {
			t.Errorf("the sighting is %+v, want term 2 with fence %d", s, second.Fence())
		}
		unlock(t, second)
	}},
	{"a mutex of the same key is no leader", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("job:1"))
		if now, err := w.client.Leader("job:1").Current(t.Context()); err != nil || now.Fence != 0 {
			t.Errorf("Current = %+v, %v, want no leader", now, err)
		}
		unlock(t, hold)
	}},
	{"an observer learns of an outage once, and of the leader after it", func(t *testing.T, w *world) {
		c := w.another()
		_, hold := campaign(t, t.Context(), w.client.Leader("job:1"))
		type result struct {
			interlock.Leadership
			err error
		}
		results := make(chan result)
		go func() {
			for s, err := range c.Leader("job:1").Observe(t.Context()) {
				results <- result{s, err}
			}
			close(results)
		}()
		if r := <-results; r.err != nil || r.Holder != hold.Holder() {
			t.Errorf("before the outage: %+v", r)
		}
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpInspect, Do: enginetest.Refuse})
		if r := <-results; !errors.Is(r.err, interlock.ErrUnavailable) {
			t.Errorf("in the outage: %+v, want ErrUnavailable", r)
		}
		time.Sleep(time.Minute)
		w.engine.Heal()
		if r := <-results; r.err != nil || r.Holder != hold.Holder() || r.Gap {
			t.Errorf("after the outage: %+v, want the same leader without a gap", r)
		}
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpInspect, Do: enginetest.Refuse})
		<-results
		go func() { _ = c.Close(t.Context()) }()
		if r := <-results; !errors.Is(r.err, interlock.ErrClosed) {
			t.Errorf("after Close: %+v, want ErrClosed", r)
		}
		if r, ok := <-results; ok {
			t.Errorf("got %+v after ErrClosed, want the end", r)
		}
		unlock(t, hold)
	}},
	{"Run leads again after a loss, when the function has returned", func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		var running, terms atomic.Int32
		var fences []uint64
		done := make(chan error)
		go func() {
			done <- w.client.Leader("job:1").Run(ctx, func(ctx context.Context) error {
				if running.Add(1) > 1 {
					t.Error("the function runs twice at once")
				}
				defer running.Add(-1)
				terms.Add(1)
				fence, ok := interlock.Fence(ctx)
				if !ok {
					t.Error("the context has no fence")
				}
				fences = append(fences, fence)
				<-ctx.Done()
				time.Sleep(time.Minute) // ends late
				return ctx.Err()
			})
		}()
		for range 3 {
			time.Sleep(2 * time.Minute)
			if _, err := w.client.ForceRelease(t.Context(), "job:1"); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(2 * time.Minute)
		cancel()
		wantErr(t, <-done, context.Canceled)
		if terms.Load() != 4 {
			t.Errorf("the function ran %d times, want 4", terms.Load())
		}
		for i := range fences[1:] {
			if fences[i] >= fences[i+1] {
				t.Errorf("the fences are %v, want them to rise", fences)
			}
		}
		wantFree(t, w.another().Mutex("job:1"))
	}},
	{"two calls of Run in a process do not run their functions at once", func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		var running atomic.Int32
		ends := make(chan error, 2)
		for range 2 {
			go func() {
				ends <- w.client.Leader("job:1").Run(ctx, func(ctx context.Context) error {
					if running.Add(1) > 1 {
						t.Error("the function runs twice at once")
					}
					defer running.Add(-1)
					<-ctx.Done()
					time.Sleep(time.Hour) // ignores the loss
					return nil
				})
			}()
		}
		time.Sleep(time.Second)
		if _, err := w.client.ForceRelease(t.Context(), "job:1"); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Minute)
		cancel()
		wantErr(t, <-ends, context.Canceled)
		wantErr(t, <-ends, context.Canceled)
	}},
	{"Run pauses longer and longer while the function fails, and stays alive in an outage", func(t *testing.T, w *world) {
		discardLog(t)
		broken := errors.New("no database")
		var runs atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- w.client.Leader("job:1").Run(ctx, func(context.Context) error { runs.Add(1); return broken })
		}()
		time.Sleep(time.Minute)
		if n := runs.Load(); n < 8 || n > 20 {
			t.Errorf("the function ran %d times in a minute, want from 8 to 20", n)
		}
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		time.Sleep(time.Hour)
		before := runs.Load()
		w.engine.Heal()
		time.Sleep(time.Minute)
		if runs.Load() == before {
			t.Error("the function did not run after the outage")
		}
		cancel()
		wantErr(t, <-done, context.Canceled)
	}},
	{"a function that resigns lets another process lead", func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		one, two := w.client.Leader("job:1"), w.another().Leader("job:1")
		leads := make(chan string)
		ends := make(chan error, 2)
		run := func(name string, l *interlock.Leader) {
			ends <- l.Run(ctx, func(ctx context.Context) error {
				leads <- name
				<-ctx.Done()
				time.Sleep(time.Second) // still leads
				return ctx.Err()
			})
		}
		go run("one", one)
		if name := <-leads; name != "one" {
			t.Errorf("%s leads, want one", name)
		}
		go run("two", two)
		synctest.Wait()
		if err := one.Resign(); err != nil {
			t.Error(err)
		}
		wantIn(t, time.Second, 2*time.Second, func() {
			if name := <-leads; name != "two" {
				t.Errorf("%s leads, want two", name)
			}
		})
		cancel()
		<-ends
		<-ends
	}},
	{"Close ends the function of Run", func(t *testing.T, w *world) {
		done := make(chan error, 1)
		var ended atomic.Bool
		go func() {
			done <- w.client.Leader("job:1").Run(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Second)
				ended.Store(true)
				return nil
			})
		}()
		time.Sleep(time.Minute)
		wantIn(t, time.Second, 2*time.Second, func() {
			if err := w.client.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
		wantErr(t, <-done, interlock.ErrClosed)
		if !ended.Load() {
			t.Error("Close did not wait for the function")
		}
		wantFree(t, w.another().Mutex("job:1"))
		wantErr(t, w.client.Leader("job:1").Run(t.Context(), func(context.Context) error { return nil }), interlock.ErrClosed)
	}},
	{"Run resigns when the function panics", func(t *testing.T, w *world) {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = w.client.Leader("job:1").Run(t.Context(), func(context.Context) error { panic("bug") })
		}()
		wantFree(t, w.another().Mutex("job:1"))
	}},
	{"Run returns the error of the function with that of its context", func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		broken := errors.New("the queue could not be drained")
		err := w.client.Leader("job:1").Run(ctx, func(context.Context) error { cancel(); return broken })
		wantErr(t, err, context.Canceled)
		wantErr(t, err, broken)
	}},
}

// campaign campaigns and expects to be elected.
func campaign(t *testing.T, ctx context.Context, l *interlock.Leader) (context.Context, *interlock.Hold) {
	t.Helper()
	held, hold, err := l.Campaign(ctx)
	if err != nil {
		t.Fatalf("Campaign: %v", err)
	}
	return held, hold
}

// observe returns what Observe of job:1 yields until the test ends.
func observe(t *testing.T, c *interlock.Client) <-chan interlock.Leadership {
	sightings := make(chan interlock.Leadership)
	go func() {
		for s, err := range c.Leader("job:1").Observe(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			select {
			case sightings <- s:
			case <-t.Context().Done():
				return
			}
		}
	}()
	return sightings
}

// next waits for the next sighting.
func next(t *testing.T, sightings <-chan interlock.Leadership) interlock.Leadership {
	t.Helper()
	select {
	case s := <-sightings:
		return s
	case <-time.After(time.Minute):
		t.Fatal("there was no sighting for a minute")
		return interlock.Leadership{}
	}
}

// lossy is an engine that loses the reply of the first write of a note.
type lossy struct {
	engine.Engine

	lost atomic.Bool
}

func (l *lossy) Capabilities() engine.Capabilities {
	c := l.Engine.Capabilities()
	c.Notes = lossyNotes{c.Notes, l}
	return c
}

type lossyNotes struct {
	engine.Notes

	*lossy
}

func (l lossyNotes) WriteNote(ctx context.Context, name, text string, version uint64) error {
	err := l.Notes.WriteNote(ctx, name, text, version)
	if err == nil && l.lost.CompareAndSwap(false, true) {
		return engine.ErrUnknown
	}
	return err
}

// replaced is an engine that loses its data when fresh is set.
type replaced struct {
	engine.Engine

	fresh atomic.Pointer[memory.Engine]
}

func (r *replaced) Capabilities() engine.Capabilities {
	c := r.Engine.Capabilities()
	c.Inspector, c.Notes = replacedInspector{c.Inspector, r}, replacedNotes{c.Notes, r}
	return c
}

type replacedInspector struct {
	engine.Inspector

	*replaced
}

func (r replacedInspector) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	if fresh := r.fresh.Load(); fresh != nil {
		return fresh.Capabilities().Inspector.Inspect(ctx, key)
	}
	return r.Inspector.Inspect(ctx, key)
}

type replacedNotes struct {
	engine.Notes

	*replaced
}

func (r replacedNotes) ReadNote(ctx context.Context, name string) (engine.Note, error) {
	if fresh := r.fresh.Load(); fresh != nil {
		return fresh.Capabilities().Notes.ReadNote(ctx, name)
	}
	return r.Notes.ReadNote(ctx, name)
}

// expiring is an engine whose locks are always about to expire.
type expiring struct {
	engine.Engine

	looks atomic.Int64
}

func (e *expiring) Capabilities() engine.Capabilities {
	c := e.Engine.Capabilities()
	c.Inspector = expiringInspector{c.Inspector, e}
	return c
}

type expiringInspector struct {
	engine.Inspector

	*expiring
}

func (e expiringInspector) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	e.looks.Add(1)
	lock, err := e.Inspector.Inspect(ctx, key)
	for i := range lock.Holders {
		lock.Holders[i].Left = 0
	}
	return lock, err
}

// interrupted is an engine that calls beforeRead before the first note is read.
type interrupted struct {
	engine.Engine

	once       sync.Once
	beforeRead func()
}

func (i *interrupted) Capabilities() engine.Capabilities {
	c := i.Engine.Capabilities()
	c.Notes = interruptedNotes{c.Notes, i}
	return c
}

type interruptedNotes struct {
	engine.Notes

	*interrupted
}

func (i interruptedNotes) ReadNote(ctx context.Context, name string) (engine.Note, error) {
	i.once.Do(i.beforeRead)
	return i.Notes.ReadNote(ctx, name)
}

// noteless is an engine without notes.
type noteless struct{ engine.Engine }

func (n noteless) Capabilities() engine.Capabilities {
	c := n.Engine.Capabilities()
	c.Notes = nil
	return c
}

// degraded is an engine that grants locks of this process only.
type degraded struct{ engine.Engine }

func (d degraded) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	g, err := d.Engine.Acquire(ctx, r)
	g.Local = true
	return g, err
}

// discardLog discards what is logged to the default logger until the test ends.
func discardLog(t *testing.T) {
	t.Helper()
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
}
