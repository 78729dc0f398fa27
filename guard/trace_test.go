package guard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
)

var traceLaws = []law{
	{"every call is traced with its verdict, and every claim with its ending (L10)", func(t *testing.T, w *world) {
		var seen []string
		tr := &guard.Trace{
			Checked: func(c guard.Checked) { seen = append(seen, fmt.Sprint(c.Guard, " ", c.Verdict, " ", c.Coalesced)) },
			Settled: func(s guard.Settled) { seen = append(seen, fmt.Sprint(s.Ending)) },
		}
		g := process[string](t, w, order, guard.WithTrace(tr), guard.WithTrace(&guard.Trace{}))
		do(t, g, key.For([]byte("x")), work("a", 0), "a")
		do(t, g, key, work("a", 0), "a")
		fails(t, g, key.For([]byte("y")), work("a", 0), guard.ErrMismatch)
		fails(t, g, guard.Of("ann", "2"), &job{err: errNo}, errNo)
		failEngine(w)
		fails(t, g, guard.Of("ann", "3"), work("a", 0), guard.ErrDown)
		want := []string{"order granted false", "completed", "order replayed true", "order mismatch true",
			"order granted false", "freed", "order down false"}
		if !slices.Equal(seen, want) {
			t.Errorf("traced %q, want %q", seen, want)
		}
		s := g.Stats()
		if s.Verdicts[guard.Granted] != 2 || s.Verdicts[guard.Mismatch] != 1 || s.Endings[guard.Freed] != 1 || s.Coalesced != 2 {
			t.Errorf("Stats = %+v, want 2 granted, 1 mismatch, 1 freed and 2 coalesced", s)
		}
	}},
	{"a trace that panics changes no call and no claim", func(t *testing.T, w *world) {
		g := process[string](t, w, order, guard.WithTrace(&guard.Trace{
			Checked:   func(guard.Checked) { panic("boom") },
			Executing: func(guard.Executing) (context.Context, string) { panic("boom") },
			Settled:   func(guard.Settled) { panic("boom") },
			Renewed:   func(guard.Renewed) { panic("boom") },
			Lost:      func(guard.Lost) { panic("boom") },
		}))
		do(t, g, key, work("a", guard.DefaultLease), "a")
		do(t, g, key, work("b", 0), "a")
		_, c := begin(t, g, guard.Of("ann", "2"))
		w.memory.Step(time.Hour)
		time.Sleep(guard.DefaultLease)
		wantErr(t, c.Abandon(), errLost)
		if s := g.Stats(); s.Running != 0 || s.Verdicts[guard.Granted] != 2 || s.Verdicts[guard.Replayed] != 1 || s.Lost != 1 {
			t.Errorf("Stats = %+v, want 2 granted, 1 replayed and 1 lost", s)
		}
	}},
	{"a trace that blocks on one claim does not delay the renewal of others", func(t *testing.T, w *world) {
		done := make(chan struct{})
		blocked := 0
		g := process[string](t, w, order, guard.WithTrace(&guard.Trace{Renewed: func(guard.Renewed) { blocked++; <-done }}))
		slow, first := begin(t, g, key)
		other, second := begin(t, g, guard.Of("ann", "2"))
		time.Sleep(10 * guard.DefaultLease)
		if slow.Err() != nil || other.Err() != nil || blocked != 1 {
			t.Errorf("after %d blocked calls, the claims ended with %v and %v, want both held", blocked, slow.Err(), other.Err())
		}
		close(done)
		ok(t, first.Complete("a"))
		ok(t, second.Complete("b"))
	}},
	{"a duplicate learns which execution its answer is from, and the work runs under the trace's context", func(t *testing.T, w *world) {
		type span struct{}
		var settled any
		n := 0
		tr := &guard.Trace{
			Executing: func(e guard.Executing) (context.Context, string) {
				n++
				return context.WithValue(e.Context, span{}, n), fmt.Sprint("execution ", n)
			},
			Settled: func(s guard.Settled) { settled = s.Context.Value(span{}) },
		}
		keepErrors := order
		keepErrors.Name, keepErrors.OnError = "keep", guard.Keep
		ring, err := guard.NewRing(guard.Secret{Name: "a", Key: bytes.Repeat([]byte("k"), 32)})
		if err != nil {
			t.Fatal(err)
		}
		for i, options := range [][]guard.Option{nil, {guard.Encrypt(ring)}} {
			for _, fail := range []error{nil, errNo} {
				n = 0
				k := guard.Of("ann", fmt.Sprint(i, fail))
				var ran any
				g := process[string](t, w, keepErrors, append(options, guard.WithTrace(&guard.Trace{Executing: func(e guard.Executing) (context.Context, string) { return e.Context, "" }}), guard.WithTrace(tr))...)
				_, _ = g.Do(t.Context(), k, func(ctx context.Context) (string, error) { ran = ctx.Value(span{}); return "a", fail })
				if ran != 1 || settled != 1 {
					t.Errorf("the contexts of the work and of its settlement have %v and %v, want 1 and 1", ran, settled)
				}
				var got guard.Checked
				other := process[string](t, w, keepErrors, append(options, guard.WithTrace(&guard.Trace{Checked: func(c guard.Checked) { got = c }}))...)
				v, err := other.Do(t.Context(), k, func(context.Context) (string, error) { return "again", nil })
				if got.Origin != "execution 1" {
					t.Errorf("with options %d and error %v, a duplicate learns of %q, want %q", i, fail, got.Origin, "execution 1")
				}
				if fail == nil && v != "a" || fail != nil && !errors.Is(err, guard.ErrFailed) {
					t.Errorf("a duplicate got %q and %v, want the outcome of the first call", v, err)
				}
			}
		}
	}},
	{"guards report to the traces of their client", func(t *testing.T, w *world) {
		var seen []string
		note := func(name string) *guard.Trace {
			return &guard.Trace{Checked: func(c guard.Checked) { seen = append(seen, name+" "+c.Guard) }}
		}
		client := interlock.New(w.engine, guard.TraceGuards(note("first"))).With(guard.TraceGuards(note("second")))
		g := guard.Must(guard.New[string](client, order, guard.WithTrace(note("own"))))
		do(t, g, key, work("a", 0), "a")
		if want := []string{"first order", "second order", "own order"}; !slices.Equal(seen, want) {
			t.Errorf("traced %q, want %q", seen, want)
		}
		if err := client.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}},
	{"loss, renewal and clean-up are traced", func(t *testing.T, w *world) {
		var lost, renewed, cleaned int
		tr := &guard.Trace{
			Lost:    func(l guard.Lost) { lost++ },
			Renewed: func(guard.Renewed) { renewed++ },
			Cleaned: func(c guard.Cleaned) {
				if c.Found {
					cleaned++
				}
			},
		}
		g := process[string](t, w, order, guard.WithTrace(tr))
		_, c := begin(t, g, key)
		time.Sleep(guard.DefaultLease)
		w.memory.Step(time.Hour)
		time.Sleep(guard.DefaultLease)
		wantErr(t, c.Abandon(), errLost)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.LoseReply})
		fails(t, remote[string](t, w, order, guard.WithTrace(tr)), guard.Of("ann", "2"), work("a", 0), guard.ErrDown)
		w.engine.Heal()
		time.Sleep(time.Second)
		synctest.Wait()
		if lost != 1 || renewed == 0 || cleaned != 1 {
			t.Errorf("traced %d losses, %d renewals, %d clean-ups; want 1, some and 1", lost, renewed, cleaned)
		}
	}},
	{"the log shows the hashed key, verdict and time left of every check (L10)", func(t *testing.T, w *world) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		g, j := process[string](t, w, order, guard.WithTrace(guard.Log(logger))), work("a", time.Second)
		k := guard.Of("secret-user", "secret-id")
		wait := startCall(t, g, k, j)
		refused(t, g, k, j)
		_, err := wait()
		ok(t, err)
		failEngine(w)
		fails(t, g, guard.Of("secret-user", "2"), j, guard.ErrDown)
		for _, want := range []string{"verdict=granted", "verdict=refused", "left=29.698s", "key=order:", "ending=completed", "verdict=down", "level=ERROR"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the log has no %q:\n%s", want, out.String())
			}
		}
		if strings.Contains(out.String(), "secret") {
			t.Errorf("the log has a plain key:\n%s", out.String())
		}
	}},
	{"the log shows the id that operators see, without the client's prefix", func(t *testing.T, w *world) {
		var out bytes.Buffer
		client := interlock.New(w.engine, interlock.Prefix("shop:"), guard.TraceGuards(guard.Log(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))))
		named := order
		named.Name = "order:new"
		g := guard.Must(guard.New[string](client, named))
		do(t, g, key, work("a", 0), "a")
		fails(t, g, guard.Of("", "3"), work("a", 0), interlock.ErrKey)
		records, err := guard.NewRecords(client)
		ok(t, err)
		all, _, err := records.From(t.Context(), "", "")
		ok(t, err)
		if n := strings.Count(out.String(), "key="+all[0].Key+" "); len(all) != 1 || n != 2 {
			t.Errorf("%d lines have the id of %+v, want 2:\n%s", n, all, out.String())
		}
		ok(t, client.Close(t.Context()))
	}},
	{"a refusal by the engine is logged as an error, with its text", func(t *testing.T, w *world) {
		var out bytes.Buffer
		g := process[string](t, w, order, guard.WithTrace(guard.Log(slog.New(slog.NewTextHandler(&out, nil)))))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Refuse, Err: engine.ErrKind, Times: 1})
		fails(t, g, key, work("a", 0), engine.ErrKind)
		if n := g.Stats().Verdicts[guard.Down]; n != 1 {
			t.Errorf("%d calls have the verdict down, want 1", n)
		}
		canceled, leave := context.WithCancel(t.Context())
		leave()
		_, err := g.Do(canceled, guard.Of("ann", "2"), work("a", 0).do)
		wantErr(t, err, context.Canceled)
		fails(t, g, guard.Of("", "3"), work("a", 0), interlock.ErrKey)
		if n := g.Stats().Verdicts[guard.GaveUp]; n != 2 {
			t.Errorf("%d calls gave up, want 2", n)
		}
		for _, want := range []string{"level=ERROR", "verdict=down", engine.ErrKind.Error(), "level=INFO", `verdict=gave-up`, "context canceled", "the user is empty"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the log has no %q:\n%s", want, out.String())
			}
		}
	}},
}
