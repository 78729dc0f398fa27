package otel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/observe/otel"
)

// A world is an engine, and an exporter that keeps spans.
type world struct {
	*tracetest.InMemoryExporter
	provider *sdk.TracerProvider
	memory   *memory.Engine
	engine   *enginetest.Faulty
}

func newWorld() *world {
	w := &world{InMemoryExporter: tracetest.NewInMemoryExporter(), memory: memory.New()}
	w.provider = sdk.NewTracerProvider(sdk.WithSyncer(w))
	w.engine = enginetest.NewFaulty(w.memory)
	return w
}

// client returns another client of the engine.
func (w *world) client(opts ...otel.Option) *interlock.Client {
	return interlock.New(w.engine, interlock.WithName("pay"), otel.Spans(append([]otel.Option{otel.WithTracerProvider(w.provider)}, opts...)...))
}

// named returns the ended spans of a name.
func (w *world) named(name string) (found []tracetest.SpanStub) {
	for _, s := range w.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// one returns the only ended span of a name.
func (w *world) one(t *testing.T, name string) tracetest.SpanStub {
	t.Helper()
	found := w.named(name)
	if len(found) != 1 {
		t.Fatalf("%d spans %s ended, want 1", len(found), name)
	}
	return found[0]
}

// value returns an attribute as text, or "" if the span does not have it.
func value(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if a.Key == attribute.Key(key) {
			return a.Value.String()
		}
	}
	return ""
}

func wantValues(t *testing.T, s tracetest.SpanStub, want map[string]string) {
	t.Helper()
	for key, v := range want {
		if got := value(s, key); got != v {
			t.Errorf("%s has %s = %q, want %q", s.Name, key, got, v)
		}
	}
}

const hashOfOrder = "da68380de022bac7" // of order:42, as the admin API shows it

func TestSpansOfLocks(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"a lock's life is a span of its acquisition and one of its hold, with the work below", func(t *testing.T, w *world) {
			ctx, caller := w.provider.Tracer("test").Start(t.Context(), "request")
			held, hold, err := w.client().Mutex("order:42").Lock(ctx)
			if err != nil {
				t.Fatal(err)
			}
			_, work := w.provider.Tracer("test").Start(held, "work")
			work.End()
			time.Sleep(time.Second)
			_ = hold.Unlock()
			caller.End()
			acquired, kept := w.one(t, "interlock.acquire"), w.one(t, "interlock.hold")
			want := map[string]string{"interlock.name": "pay", "interlock.lock.kind": "exclusive", "interlock.key": "",
				"interlock.key_hash": hashOfOrder, "interlock.fence": fmt.Sprint(hold.Fence())}
			wantValues(t, acquired, want)
			wantValues(t, kept, want)
			wantValues(t, acquired, map[string]string{"interlock.result": "acquired", "interlock.wait_ms": "0"})
			wantValues(t, kept, map[string]string{"interlock.result": "released"})
			request := w.one(t, "request").SpanContext.SpanID()
			if acquired.Parent.SpanID() != request || kept.Parent.SpanID() != request {
				t.Error("the spans of the lock are not children of the caller's span")
			}
			if w.one(t, "work").Parent.SpanID() != kept.SpanContext.SpanID() {
				t.Error("the work's span is not a child of interlock.hold")
			}
			if took := kept.EndTime.Sub(kept.StartTime); took != time.Second {
				t.Errorf("interlock.hold took %v, want 1s", took)
			}
			if kept.SpanKind != trace.SpanKindInternal || kept.Status.Code != codes.Unset {
				t.Errorf("interlock.hold has kind %v and status %v, want internal and unset", kept.SpanKind, kept.Status)
			}
		}},
		{"without a span of the caller, the spans of a lock are one trace", func(t *testing.T, w *world) {
			_ = w.client().Mutex("order:42").Do(t.Context(), func(context.Context) error { return nil })
			if acquired, kept := w.one(t, "interlock.acquire"), w.one(t, "interlock.hold"); kept.Parent.SpanID() != acquired.SpanContext.SpanID() {
				t.Error("interlock.hold is not a child of interlock.acquire")
			}
		}},
		{"a caller whose span is not sampled gets no spans, and neither does its work", func(t *testing.T, w *world) {
			unsampled := sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample()))
			ctx, _ := unsampled.Tracer("test").Start(t.Context(), "request")
			always := sdk.NewTracerProvider(sdk.WithSyncer(w), sdk.WithSampler(sdk.AlwaysSample()))
			client := w.client(otel.WithTracerProvider(always))
			for _, err := range []error{
				client.Mutex("order:42").Do(ctx, func(ctx context.Context) error {
					_, _, _ = client.Mutex("order:42").TryLock(context.WithoutCancel(ctx))
					return nil
				}),
				interlock.New(w.engine, otel.Spans(otel.WithTracerProvider(unsampled))).Mutex("order:42").Do(t.Context(), func(ctx context.Context) error {
					if trace.SpanFromContext(ctx).IsRecording() || !trace.SpanContextFromContext(ctx).IsValid() {
						t.Error("the work's context does not say that its trace is not sampled")
					}
					return nil
				}),
			} {
				if err != nil {
					t.Error(err)
				}
			}
			if n := len(w.GetSpans()); n != 0 {
				t.Errorf("%d spans ended, want none", n)
			}
		}},
		{"an acquisition after a wait shows when the wait began", func(t *testing.T, w *world) {
			for i, waiter := range []*interlock.Client{nil, w.client()} { // of the same process, and of another
				w.Reset()
				client := w.client()
				if waiter == nil {
					waiter = client
				}
				_, hold, err := client.Mutex("order:42").Lock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				w.Reset()
				time.AfterFunc(1500*time.Millisecond, func() { _ = hold.Unlock() })
				if err := waiter.Mutex("order:42").Do(t.Context(), func(context.Context) error { return nil }); err != nil {
					t.Fatal(err)
				}
				s := w.one(t, "interlock.acquire")
				wantValues(t, s, map[string]string{"interlock.wait_ms": "1500", "interlock.result": "acquired", "interlock.handed_over": fmt.Sprint(i == 0)})
				if len(s.Events) != 2 || s.Events[0].Name != "wait.start" || s.Events[1].Name != "acquired" || s.Events[1].Time.Sub(s.Events[0].Time) != 1500*time.Millisecond {
					t.Errorf("interlock.acquire has the events %v, want wait.start, and acquired 1.5s later", s.Events)
				}
				synctest.Wait()
			}
		}},
		{"a caller that gives up gets a span with the result, and a timeout is an error", func(t *testing.T, w *world) {
			c := w.client()
			_, hold, err := c.Mutex("order:42").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			soon, cancel := context.WithCancel(t.Context())
			time.AfterFunc(3*time.Second, cancel)
			w.Reset()
			_, _, _ = c.Mutex("order:42").TryLock(t.Context())
			_, _, _ = c.Mutex("order:42", interlock.Wait(2*time.Second)).Lock(t.Context())
			_, _, _ = c.Mutex("order:42").Lock(soon)
			for i, want := range []struct {
				result, wait string
				status       codes.Code
			}{{"busy", "0", codes.Unset}, {"timeout", "2000", codes.Error}, {"cancelled", "1000", codes.Unset}} {
				s := w.named("interlock.acquire")[i]
				if value(s, "interlock.result") != want.result || value(s, "interlock.wait_ms") != want.wait || s.Status.Code != want.status {
					t.Errorf("interlock.acquire has %v and status %v, want %v", s.Attributes, s.Status, want)
				}
			}
			_ = hold.Unlock()
		}},
		{"a lost lock ends its span with the reason and the status of an error", func(t *testing.T, w *world) {
			ctx, hold, err := w.client().Mutex("order:42").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			w.memory.Evict("order:42")
			<-ctx.Done()
			_ = hold.Unlock()
			synctest.Wait()
			s := w.one(t, "interlock.hold")
			wantValues(t, s, map[string]string{"interlock.result": "not-holder"})
			if s.Status.Code != codes.Error || s.Status.Description == "" {
				t.Errorf("interlock.hold has the status %v, want an error with a text", s.Status)
			}
		}},
		{"failures of the engine are errors, and their texts have no keys and no holders", func(t *testing.T, w *world) {
			c := w.client()
			_, hold, err := c.Mutex("order:42").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse, Err: errors.New(`release "order:42": refused`)})
			_ = hold.Unlock()
			wantValues(t, w.one(t, "interlock.hold"), map[string]string{"interlock.result": "release-failed"})
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse, Err: errors.New("not today")})
			_, _, err = c.Mutex("order:42").Lock(t.Context())
			if !strings.Contains(fmt.Sprint(err), "order:42") {
				t.Fatalf("the error %v does not name the key", err)
			}
			s := w.named("interlock.acquire")[1]
			wantValues(t, s, map[string]string{"interlock.result": "error"})
			for _, s := range []tracetest.SpanStub{s, w.one(t, "interlock.hold")} {
				if text := s.Status.Description; s.Status.Code != codes.Error || strings.Contains(text, "order:42") || !strings.Contains(text, hashOfOrder) {
					t.Errorf("%s has the status %v, want an error with %q for the key", s.Name, s.Status, hashOfOrder)
				}
			}
			w.engine.Heal()
			synctest.Wait()
		}},
		{"keys are shown only if they are allowed", func(t *testing.T, w *world) {
			_ = w.client(otel.IncludeKeys()).Mutex("order:42").Do(t.Context(), func(context.Context) error { return nil })
			wantValues(t, w.one(t, "interlock.hold"), map[string]string{"interlock.key": "order:42", "interlock.key_hash": ""})
		}},
		{"nested locks and locks of Multi end their own spans", func(t *testing.T, w *world) {
			c := w.client()
			outer, first, err := c.Mutex("order:1").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, both, err := c.Multi([]string{"order:2", "order:3"}).Lock(outer)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			_ = both.Unlock()
			if n := len(w.named("interlock.hold")); n != 2 {
				t.Errorf("%d spans of holds ended, want 2", n)
			}
			c.ReportLost(interlock.Lost{Key: "a guard's"})                 // without a context, as directives do
			c.ReportLost(interlock.Lost{Context: outer, Key: "a guard's"}) // with that of a lock
			time.Sleep(time.Second)
			_ = first.Unlock()
			last := w.named("interlock.hold")[2]
			if took := last.EndTime.Sub(last.StartTime); took != 2*time.Second || value(last, "interlock.result") != "released" {
				t.Errorf("the outer span took %v and has %v, want 2s and released", took, last.Attributes)
			}
		}},
		{"a span processor that panics breaks no lock", func(t *testing.T, w *world) {
			w.provider.RegisterSpanProcessor(panicking{})
			_, hold, err := w.client().Mutex("order:42").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := hold.Unlock(); err != nil {
				t.Error(err)
			}
			w.provider.UnregisterSpanProcessor(panicking{})
			if err := w.client().Mutex("order:42", interlock.Wait(0)).Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t, newWorld()) })
		})
	}
}

// recordOnly lets processors in this process see spans that are not exported.
type recordOnly struct{ sdk.Sampler }

func (recordOnly) ShouldSample(sdk.SamplingParameters) sdk.SamplingResult {
	return sdk.SamplingResult{Decision: sdk.RecordOnly}
}

// panicking is a faulty processor.
type panicking struct{ sdk.SpanProcessor }

func (panicking) OnStart(context.Context, sdk.ReadWriteSpan) { panic("a faulty processor") }
func (panicking) OnEnd(sdk.ReadOnlySpan)                     {}
func (panicking) Shutdown(context.Context) error             { return nil }

func TestSpansOfGuards(t *testing.T) {
	key := guard.Of("ann", "cart-7")
	place := func(context.Context) (string, error) { return "placed", nil }
	policy := guard.Policy{Name: "orders", OnError: guard.Keep}
	for _, c := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"an answer from the record is linked to the execution, on another client too", func(t *testing.T, w *world) {
			var work trace.SpanContext
			first := guard.Must(guard.New[string](w.client(), policy))
			_, _ = first.Do(t.Context(), key, func(ctx context.Context) (string, error) {
				work = trace.SpanContextFromContext(ctx)
				return "placed", nil
			})
			execution := w.one(t, "interlock.execute")
			if execution.SpanContext.SpanID() != work.SpanID() {
				t.Error("the work's context does not have interlock.execute")
			}
			wantValues(t, execution, map[string]string{"interlock.name": "orders", "interlock.result": "completed", "interlock.key": ""})
			if value(execution, "interlock.key_hash") == "" || value(execution, "interlock.fence") == "" {
				t.Errorf("interlock.execute has %v, want a hash and a fence", execution.Attributes)
			}
			if v, err := guard.Must(guard.New[string](w.client(), policy)).Do(t.Context(), key, place); v != "placed" || err != nil {
				t.Fatalf("the duplicate got %q, %v; want placed", v, err)
			}
			replay := w.one(t, "interlock.replay")
			if len(replay.Links) != 1 || replay.Links[0].SpanContext.SpanID() != work.SpanID() || replay.Links[0].SpanContext.TraceID() != work.TraceID() {
				t.Errorf("interlock.replay has the links %v, want one to the execution", replay.Links)
			}
			wantValues(t, replay, map[string]string{"interlock.result": "replayed", "interlock.key_hash": value(execution, "interlock.key_hash")})
		}},
		{"a stored error is replayed with a link, and both spans are errors", func(t *testing.T, w *world) {
			g := guard.Must(guard.New[string](w.client(), policy))
			for range 2 {
				_, _ = g.Do(t.Context(), key, func(context.Context) (string, error) { return "", errors.New("sold out") })
			}
			execution, replay := w.one(t, "interlock.execute"), w.one(t, "interlock.replay")
			wantValues(t, execution, map[string]string{"interlock.result": "kept-error"})
			wantValues(t, replay, map[string]string{"interlock.result": "failed"})
			if execution.Status.Code != codes.Error || replay.Status.Code != codes.Error || len(replay.Links) != 1 {
				t.Errorf("the spans have the status %v and %v and %d links, want two errors and a link", execution.Status, replay.Status, len(replay.Links))
			}
		}},
		{"a record with an unreadable id of its execution is replayed without a link", func(t *testing.T, w *world) {
			for i, origin := range []string{"", "x", "00-0-0-0", "00-00000000000000000000000000000000-0000000000000000-01",
				"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nx: y", strings.Repeat("a", 255), "\xff\x00"} {
				w.Reset()
				k := guard.Of("ann", fmt.Sprint("cart-", i))
				stranger := interlock.New(w.engine, guard.TraceGuards(&guard.Trace{Executing: func(e guard.Executing) (context.Context, string) { return e.Context, origin }}))
				_, _ = guard.Must(guard.New[string](stranger, policy)).Do(t.Context(), k, place)
				v, err := guard.Must(guard.New[string](w.client(), policy)).Do(t.Context(), k, place)
				if replay := w.one(t, "interlock.replay"); len(replay.Links) != 0 || v != "placed" || err != nil {
					t.Errorf("with the id %q, a duplicate got %q, %v and the links %v; want placed and no links", origin, v, err, replay.Links)
				}
			}
		}},
		{"the record keeps no id of a span that is not sampled", func(t *testing.T, w *world) {
			caller, span := w.provider.Tracer("test").Start(t.Context(), "request") // sampled, of another provider
			defer span.End()
			for name, provider := range map[string]trace.TracerProvider{
				"no span is sampled":        sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample())),
				"spans are only recorded":   sdk.NewTracerProvider(sdk.WithSampler(recordOnly{sdk.NeverSample()})),
				"the program has no tracer": noop.NewTracerProvider(),
			} {
				origin := "none"
				g := guard.Must(guard.New[string](interlock.New(memory.New(), otel.Spans(otel.WithTracerProvider(provider)),
					guard.TraceGuards(&guard.Trace{Checked: func(c guard.Checked) { origin = c.Origin }})), policy))
				for range 2 {
					_, _ = g.Do(caller, key, place)
				}
				if origin != "" {
					t.Errorf("if %s, the record has the id %q, want none", name, origin)
				}
			}
		}},
		{"a refusal is an event of the caller's span", func(t *testing.T, w *world) {
			g := guard.Must(guard.New[string](w.client(), policy))
			_, claim, err := g.Begin(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			ctx, span := w.provider.Tracer("test").Start(t.Context(), "request")
			_, _ = g.Do(ctx, key, place)
			span.End()
			_ = claim.Abandon()
			if s := w.one(t, "request"); len(s.Events) != 1 || s.Events[0].Name != "interlock.check" {
				t.Errorf("the caller's span has the events %v, want interlock.check", s.Events)
			}
			s := w.one(t, "interlock.execute")
			if wantValues(t, s, map[string]string{"interlock.result": "unknown"}); s.Status.Code != codes.Error {
				t.Errorf("interlock.execute has the status %v, want an error", s.Status)
			}
		}},
		{"a lost claim ends the span of its work, once", func(t *testing.T, w *world) {
			g := guard.Must(guard.New[string](w.client(), policy))
			_, err := g.Do(t.Context(), key, func(ctx context.Context) (string, error) {
				w.memory.Step(time.Hour)
				<-ctx.Done()
				return "late", nil
			})
			if !errors.Is(err, interlock.ErrLost) {
				t.Fatalf("the work ended with %v, want a lost claim", err)
			}
			synctest.Wait() // a loss is reported by another goroutine
			s := w.one(t, "interlock.execute")
			if wantValues(t, s, map[string]string{"interlock.result": "lost"}); s.Status.Code != codes.Error {
				t.Errorf("interlock.execute has the status %v, want an error", s.Status)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t, newWorld()) })
		})
	}
}

func Test100SimultaneousDuplicatesAreOneExecutionAnd99LinkedAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		clients int
	}{
		{"100 simultaneous duplicates of one guard call: exactly one interlock.execute, and 99 answers linked to it", 1},
		{"100 simultaneous duplicates of one guard call on two clients: exactly one interlock.execute, and 99 answers linked to it", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, newWorld(), c.clients) })
		})
	}
}

// storm sends the calls, and compares the spans with them.
func storm(t *testing.T, w *world, clients int) {
	const calls = 100
	var guards []*guard.Guard[string]
	for range clients {
		guards = append(guards, guard.Must(guard.New[string](w.client(), guard.Policy{Name: "orders", OnDuplicate: guard.Wait})))
	}
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			ctx, span := w.provider.Tracer("test").Start(t.Context(), "request")
			defer span.End()
			v, err := guards[i%len(guards)].Do(ctx, guard.Of("ann", "cart-7"), func(context.Context) (string, error) {
				time.Sleep(time.Second) // until all duplicates wait
				return "placed", nil
			})
			if v != "placed" || err != nil {
				t.Errorf("a call got %q, %v; want placed", v, err)
			}
		})
	}
	all.Wait()
	execution, replays := w.one(t, "interlock.execute"), w.named("interlock.replay")
	traces := make(map[trace.TraceID]bool)
	for _, r := range replays {
		if len(r.Links) != 1 || r.Links[0].SpanContext.SpanID() != execution.SpanContext.SpanID() || r.Links[0].SpanContext.TraceID() != execution.SpanContext.TraceID() {
			t.Errorf("an answer has the links %v, want one to the execution", r.Links)
		}
		traces[r.SpanContext.TraceID()] = true
	}
	if len(replays) != calls-1 || len(traces) != calls-1 || traces[execution.SpanContext.TraceID()] {
		t.Errorf("%d answers in %d traces, want %d, each in its own trace, and none in the execution's", len(replays), len(traces), calls-1)
	}
}

func TestTraceID(t *testing.T) {
	w := newWorld()
	ctx, span := w.provider.Tracer("test").Start(t.Context(), "request")
	if got, want := otel.TraceID(ctx), span.SpanContext().TraceID().String(); got != want {
		t.Errorf("TraceID = %q, want %q", got, want)
	}
	unsampled, _ := sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample())).Tracer("test").Start(t.Context(), "request")
	for _, ctx := range []context.Context{t.Context(), unsampled} {
		if got := otel.TraceID(ctx); got != "" {
			t.Errorf("TraceID = %q, want none", got)
		}
	}
}
