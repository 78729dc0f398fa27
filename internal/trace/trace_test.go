package trace_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/trace"
)

func TestPanics(t *testing.T) {
	var out bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))

	t.Run("if a function panics, the other functions still get the event, and its first panic is logged", func(t *testing.T) {
		var got []string
		note := func(text string) func(string) { return func(e string) { got = append(got, text+e) } }
		f := trace.Both(trace.Both(trace.Both(nil, note("a")), func(string) { panic("boom") }), note("b"))
		f("1")
		f("2")
		if want := []string{"a1", "b1", "a2", "b2"}; !slices.Equal(got, want) {
			t.Errorf("the functions got %q, want %q", got, want)
		}
		if n := strings.Count(out.String(), "boom"); n != 1 {
			t.Errorf("the panic is logged %d times, want once:\n%s", n, &out)
		}
	})
	t.Run("after a function that panics or returns no context, a chain goes on with the context from before it", func(t *testing.T) {
		type key struct{}
		add := func(text string) func(context.Context) context.Context {
			return func(ctx context.Context) context.Context {
				before, _ := ctx.Value(key{}).(string)
				return context.WithValue(ctx, key{}, before+text)
			}
		}
		var f func(context.Context) context.Context
		for _, g := range []func(context.Context) context.Context{nil, func(context.Context) context.Context { return nil }, func(context.Context) context.Context { panic("boom") }, add("a"),
			func(context.Context) context.Context { panic("boom") }, add("b")} {
			f = trace.Chain(f, g, func(ctx context.Context) context.Context { return ctx }, func(_, ctx context.Context) context.Context { return ctx })
		}
		if got := f(t.Context()).Value(key{}); got != "ab" {
			t.Errorf("the context has %q, want %q", got, "ab")
		}
	})
	t.Run("if an observer panics, the other observers still get the event", func(t *testing.T) {
		var hooks trace.Hooks[int]
		n := 0
		defer hooks.Add(func(int) { panic("boom") })()
		defer hooks.Add(func(e int) { n += e })()
		if hooks.Call(2); n != 2 {
			t.Errorf("the second observer got %d, want 2", n)
		}
	})
	t.Run("a default logger that panics does no harm", func(t *testing.T) {
		slog.SetDefault(slog.New(panicking{}))
		trace.Both(nil, func(int) { panic("boom") })(1)
	})
}

type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool { panic("the logger is faulty") }

func TestQueue(t *testing.T) {
	t.Run("calls run in order, while a slow one delays no caller", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var got []int
			q := trace.Queue{Go: func(f func()) { go f() }}
			start := time.Now()
			for i := range 5 {
				q.Add(func() { time.Sleep(time.Second); got = append(got, i) })
			}
			if time.Since(start) != 0 {
				t.Error("Add waited for a call")
			}
			time.Sleep(time.Minute)
			q.Add(func() { got = append(got, 5) })
			synctest.Wait()
			if !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) {
				t.Errorf("the calls ran as %v, want them in order", got)
			}
		})
	})
	t.Run("the calls that wait for a slow one are bounded", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			defer slog.SetDefault(slog.Default())
			slog.SetDefault(slog.New(slog.DiscardHandler))
			q := trace.Queue{Go: func(f func()) { go f() }}
			q.Add(func() { time.Sleep(time.Hour) })
			synctest.Wait()
			var n atomic.Int64
			for range 50_000 {
				q.Add(func() { n.Add(1) })
			}
			time.Sleep(2 * time.Hour)
			if n.Load() != 10_000 {
				t.Errorf("%d calls were kept, want 10,000", n.Load())
			}
		})
	})
}

func TestSample(t *testing.T) {
	t.Run("the first lines of each second are written, and the next one has the number of skipped lines", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := trace.Sample[string]{PerSecond: 2}
			for second, want := range []int{0, 7, 7} {
				for i := range 9 {
					skipped, ok := s.Allow("a")
					if ok != (i < 2) || i == 0 && skipped != want || i > 0 && skipped != 0 {
						t.Errorf("in second %d, line %d: written %v, %d skipped; want lines 0 and 1 written, line 0 with %d skipped", second, i, ok, skipped, want)
					}
				}
				time.Sleep(time.Second)
			}
			if skipped, ok := s.Allow("b"); !ok || skipped != 0 {
				t.Errorf("a line with another key: written %v, %d skipped; want it written, 0 skipped", ok, skipped)
			}
		})
	})
	t.Run("many keys share one limit, and every line is written or counted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := trace.Sample[int]{PerSecond: 1}
			count := func() (written, skipped int) {
				for key := range 10_000 {
					n, ok := s.Allow(key)
					if skipped += n; ok {
						written++
					}
				}
				return written, skipped
			}
			if written, _ := count(); written != 1001 {
				t.Errorf("%d lines are written, want 1,001", written)
			}
			time.Sleep(time.Second)
			if written, skipped := count(); written > 1001 || skipped != 8999 {
				t.Errorf("%d lines are written, %d were skipped, want at most 1,001, and 8,999", written, skipped)
			}
		})
	})
}
