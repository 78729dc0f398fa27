package logs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/trace"
	"github.com/interlock-go/interlock/observe/logs"
	"github.com/interlock-go/interlock/woven"
)

// lines collects a log. It is safe for concurrent use.
type lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

// all returns the lines as JSON objects.
func (l *lines) all(t *testing.T) (all []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for text := range bytes.Lines(l.out.Bytes()) {
		var line map[string]any
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatalf("the line %s: %v", text, err)
		}
		all = append(all, line)
	}
	return all
}

// find returns the lines that have all given attributes, such as "component", "locks".
func (l *lines) find(t *testing.T, attrs ...string) (found []map[string]any) {
	t.Helper()
	for _, line := range l.all(t) {
		match := true
		for i := 0; i < len(attrs); i += 2 {
			match = match && fmt.Sprint(line[attrs[i]]) == attrs[i+1]
		}
		if match {
			found = append(found, line)
		}
	}
	return found
}

// newLog returns a logger with a Handler on JSON lines.
func newLog(level slog.Level, opts ...logs.Option) (*slog.Logger, *logs.Levels, *lines) {
	out, levels := new(lines), logs.NewLevels(level)
	return slog.New(logs.NewHandler(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}), levels, opts...)), levels, out
}

func TestHandler(t *testing.T) {
	t.Run("the handler keeps the rules of package slog", func(t *testing.T) {
		for _, opt := range []logs.Option{logs.Unsampled(), logs.PerSecond(1000)} {
			logger, _, out := newLog(slog.LevelInfo, opt)
			if err := slogtest.TestHandler(logger.Handler(), func() []map[string]any { return out.all(t) }); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("each component has a level, which may change while loggers exist", func(t *testing.T) {
		logger, levels, out := newLog(slog.LevelInfo)
		locks := logs.Component(logger, logs.Locks)
		named := locks.With("request", 1)
		if err := levels.Set(logs.Locks, slog.LevelDebug); err != nil {
			t.Fatal(err)
		}
		locks.Debug("a")
		named.Debug("b")
		named.WithGroup("g").With("component", "guards").Debug("c") // an attribute of the group
		logs.Component(logger, logs.Guards).Debug("not written")
		logs.Component(locks, logs.Guards).Debug("not written")
		logger.Debug("not written")
		logs.Component(logger, "payments").Info("d") // of another package
		if err := levels.Set(logs.Locks, slog.LevelWarn); err != nil {
			t.Fatal(err)
		}
		locks.Info("not written")
		named.Info("not written")
		named.Warn("e")
		var got []string
		for _, line := range out.all(t) {
			got = append(got, line["msg"].(string))
		}
		if want := []string{"a", "b", "c", "d", "e"}; !slices.Equal(got, want) {
			t.Errorf("the lines are %q, want %q", got, want)
		}
	})
	t.Run("the next handler may refuse more", func(t *testing.T) {
		levels := logs.NewLevels(slog.LevelDebug)
		h := logs.NewHandler(slog.NewTextHandler(new(lines), nil), levels)
		if h.Enabled(t.Context(), slog.LevelDebug) {
			t.Error("a line at debug is enabled, although the next handler drops it")
		}
	})
	t.Run("levels of unknown components are an error and change nothing", func(t *testing.T) {
		levels := logs.NewLevels(slog.LevelInfo)
		before := levels.String()
		for _, err := range []error{levels.Set("lock", slog.LevelDebug), levels.Set("", slog.LevelDebug),
			levels.SetAll(slog.LevelDebug, map[string]slog.Level{"locks": slog.LevelError, "x": slog.LevelError})} {
			if err == nil || !strings.Contains(err.Error(), "use default, engine, gateway, guards, locks") {
				t.Errorf("got the error %v, want the names to use", err)
			}
		}
		if got := levels.String(); got != before {
			t.Errorf("the levels are %s, want them as before, %s", got, before)
		}
		if err := levels.SetAll(slog.LevelWarn, map[string]slog.Level{"locks": slog.LevelError}); err != nil {
			t.Error(err)
		}
		if got, want := levels.String(), "default=WARN engine=WARN gateway=WARN guards=WARN locks=ERROR"; got != want {
			t.Errorf("the levels are %s, want %s", got, want)
		}
	})
}

func TestFlood(t *testing.T) {
	t.Run("the first similar lines of each second are written, and the next one has the number of skipped lines", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			logger, _, out := newLog(slog.LevelInfo, logs.PerSecond(10))
			locks := logs.Component(logger, logs.Locks)
			for range 3 {
				for i := range 1000 {
					locks.Error("lock: engine failed", "name", "pay", "key", i)
				}
				time.Sleep(time.Second)
			}
			locks.Error("lock: engine failed", "name", "refund")
			locks.Warn("lock: engine failed", "name", "pay")
			locks.Error("lock: lost", "name", "pay")
			logs.Component(logger, logs.Guards).Error("lock: engine failed", "name", "pay")
			if n := len(out.all(t)); n != 34 {
				t.Errorf("%d lines are written, want 34: 10 similar ones in each of 3 seconds, and 4 that differ", n)
			}
			if n := len(out.find(t, "skipped", "990")); n != 2 {
				t.Errorf("%d lines have skipped=990, want 2", n)
			}
		})
	})
	t.Run("by default 100 similar lines are written per second, and no memory grows with keys", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			logger, _, out := newLog(slog.LevelInfo)
			guards := logs.Component(logger, logs.Guards)
			for i := range 100_000 {
				guards.Info("x", "key", i)
			}
			if n := len(out.all(t)); n != 100 {
				t.Errorf("%d lines are written, want 100", n)
			}
		})
	})
	t.Run("a handler without sampling writes all lines", func(t *testing.T) {
		logger, _, out := newLog(slog.LevelInfo, logs.Unsampled())
		for range 1000 {
			logs.Component(logger, logs.Locks).Info("x")
		}
		if n := len(out.all(t)); n != 1000 {
			t.Errorf("%d lines are written, want 1,000", n)
		}
	})
	t.Run("lines of other packages, and lines with Every, are not limited", func(t *testing.T) {
		logger, _, out := newLog(slog.LevelInfo)
		for range 1000 {
			logger.Info("x")
			logs.Component(logger, "payments").Info("x")
			logs.Component(logger, logs.Default).Info("x")
			logs.Component(logger, logs.Locks).InfoContext(logs.Every(t.Context()), "x")
		}
		if n := len(out.all(t)); n != 4000 {
			t.Errorf("%d lines are written, want 4,000", n)
		}
	})
}

// An observed engine reports requests, as an engine with servers does.
type observed struct {
	engine.Engine
	calls trace.Hooks[engine.ServerCall]
}

func (o *observed) Renew(ctx context.Context, reqs []engine.Request) []error {
	o.calls.Call(engine.ServerCall{Operation: "renew", Err: errors.New("broken pipe")})
	return o.Engine.Renew(ctx, reqs)
}

func (o *observed) Capabilities() engine.Capabilities {
	c := o.Engine.Capabilities()
	c.Observe = o.calls.Add
	return c
}

// ship is a woven function.
func ship(ctx context.Context, order string) (err error) {
	var call woven.Call
	defer call.Done(&err)
	call.Lock(ctx, &woven.Site{ID: "ilsite/1{lock example.com/shop.Ship}", Pos: "shop/ship.go:1", Name: "ship", Verb: "lock"}, woven.Key1(order), &err)
	return err
}

func TestTo(t *testing.T) {
	policy := guard.Policy{Name: "order", Retain: time.Hour, Scope: guard.Global}
	t.Run("locks, guards, middleware and the engine write to one log, each with its component and name", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			logger, _, out := newLog(slog.LevelDebug)
			e := &observed{Engine: memory.New()}
			client := interlock.New(e, logs.To(logger), interlock.WithName("pay"))
			if err := client.Mutex("order:42").Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				t.Fatal(err)
			}
			g := guard.Must(guard.New[string](client, policy))
			for range 2 {
				if _, err := g.Do(t.Context(), guard.ID("k-1"), func(context.Context) (string, error) { return "a", nil }); err != nil {
					t.Fatal(err)
				}
			}
			shop := interlockhttp.Must(interlockhttp.Once(client, guard.Policy{Name: "shop", Retain: time.Hour, Scope: guard.Global}))
			handler := shop.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
			request := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader("{}"))
			request.Header.Set("Idempotency-Key", "secret-key-0123456789")
			handler.ServeHTTP(httptest.NewRecorder(), request)

			if err := ship(interlock.NewContext(t.Context(), client), "42"); err != nil {
				t.Error(err)
			}

			e.calls.Call(engine.ServerCall{Operation: "acquire", Node: "a:1", Took: time.Millisecond})
			e.calls.Call(engine.ServerCall{Operation: "acquire", Node: "a:1", Took: time.Second})
			e.calls.Call(engine.ServerCall{Operation: "acquire", Node: "a:1", Took: time.Second, Err: errors.New("broken pipe")})
			e.calls.Call(engine.ServerCall{Operation: "acquire", Node: "a:1", Took: time.Second, Err: context.Canceled})
			if err := client.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if e.calls.Active() {
				t.Error("the engine is observed after Close")
			}
			for _, want := range [][]string{
				{"component", "locks", "name", "pay", "kind", "exclusive", "msg", "lock: acquired", "level", "DEBUG"},
				{"component", "locks", "name", "pay", "msg", "lock: released"},
				{"component", "guards", "name", "order", "verdict", "granted"},
				{"component", "guards", "name", "order", "verdict", "replayed"},
				{"component", "guards", "name", "order", "ending", "completed"},
				{"component", "guards", "name", "shop", "verdict", "granted"},
				{"component", "locks", "name", "ship", "msg", "lock: acquired"},
				{"component", "engine", "msg", "engine: request", "operation", "acquire", "node", "a:1", "level", "DEBUG"},
				{"component", "engine", "msg", "engine: slow request", "level", "INFO"},
				{"component", "engine", "msg", "engine: request failed", "level", "WARN", "err", "broken pipe"},
				{"component", "engine", "msg", "engine: request cancelled", "level", "DEBUG"},
			} {
				if n := len(out.find(t, want...)); n != 1 {
					t.Errorf("%d lines have %q, want 1", n, want)
				}
			}
			if strings.Contains(out.out.String(), "secret-key-0123456789") {
				t.Error("the log has an idempotency key")
			}
			if t.Failed() {
				t.Log(out.out.String())
			}
		})
	})
	t.Run("an event of a guard is logged once, although the client reports it as well", func(t *testing.T) {
		logger, _, out := newLog(slog.LevelDebug)
		client := interlock.New(nil, logs.To(logger))
		client.ReportFailed(interlock.Failed{Name: "order"})
		client.ReportLost(interlock.Lost{Name: "order", Err: interlock.ErrExpired})
		client.ReportDegraded(interlock.Degraded{Name: "order"})
		if all := out.all(t); len(all) != 0 {
			t.Errorf("the log of locks has %v, want nothing", all)
		}
	})
	t.Run("a log handler that panics breaks neither a lock nor a guard", func(t *testing.T) {
		defer slog.SetDefault(slog.Default())
		slog.SetDefault(slog.New(slog.DiscardHandler))
		e := &observed{Engine: memory.New()}
		client := interlock.New(e, logs.To(slog.New(faulty{})))
		e.calls.Call(engine.ServerCall{Operation: "acquire"})
		if err := client.Mutex("order:42").Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		g := guard.Must(guard.New[string](client, policy))
		if v, err := g.Do(t.Context(), guard.ID("k-1"), func(context.Context) (string, error) { return "a", nil }); v != "a" || err != nil {
			t.Errorf("the guard returned %q and %v, want %q", v, err, "a")
		}
		if err := client.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("a log that blocks does not hold up renewals", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			out := &blocking{free: make(chan struct{})}
			logger := slog.New(logs.NewHandler(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}), logs.NewLevels(slog.LevelDebug)))
			client := interlock.New(&observed{Engine: memory.New()}, logs.To(logger))
			ctx, hold, err := client.Mutex("order:42").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out.block.Store(true)
			time.Sleep(10 * time.Minute)
			if ctx.Err() != nil {
				t.Errorf("the lock was lost: %v", context.Cause(ctx))
			}
			close(out.free)
			if err := hold.Unlock(); err != nil {
				t.Error(err)
			}
			if err := client.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}
