package loadtest_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo"
	"github.com/interlock-go/interlock/cmd/interlock/internal/loadtest"
	"github.com/interlock-go/interlock/engine/memory"
)

// contenders returns n goroutines that hold a mutex for a second each.
func contenders(n int, opts ...interlock.Option) *loadtest.Contenders {
	return &loadtest.Contenders{LockedStorm: demo.LockedStorm{
		Storm:  demo.Storm{Clicks: n, Hold: time.Second, Key: "k"},
		Locker: func(c *interlock.Client) interlock.Locker { return c.With(opts...).Mutex("k") },
	}}
}

// figures compares the figures of a result.
func figures(t *testing.T, r *loadtest.Result, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if f, ok := r.Figure(name); !ok || f.Value != value {
			t.Errorf("%s is %v (%v), want %v", name, f.Value, ok, value)
		}
	}
}

func TestContenders(t *testing.T) {
	t.Run("all goroutines acquire the lock if they wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := contenders(10)
			reported := 0
			s.Progress = func(done int) { reported = max(reported, done) }
			r, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			figures(t, r, map[string]float64{"n": 10, "executed": 10, "refused": 0, "lost": 0, "max-holders": 1, "violations": 0, "elapsed": 10_000})
			if len(r.Spans) != 10 || reported < 9 {
				t.Errorf("got %d spans and progress up to %d, want 10 and at least 9", len(r.Spans), reported)
			}
		})
	})
	t.Run("one goroutine acquires the lock if none waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, err := contenders(10, interlock.Wait(0)).Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			figures(t, r, map[string]float64{"executed": 1, "refused": 9, "max-holders": 1})
		})
	})
	t.Run("lost locks are counted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, err := contenders(2, interlock.Lease(500*time.Millisecond)).Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			figures(t, r, map[string]float64{"executed": 2, "lost": 2})
		})
	})
	t.Run("a lock that does not exclude is detected", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := contenders(3)
			s.Locker = func(c *interlock.Client) interlock.Locker { return c.Semaphore("k", 3).Permit() }
			r, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			figures(t, r, map[string]float64{"max-holders": 3})
			if len(r.Violations) == 0 || !strings.Contains(r.Violations[0], "two holds overlap") {
				t.Errorf("the violations are %q, want an overlap of two holds", r.Violations)
			}
		})
	})
	t.Run("a cancelled storm releases its locks", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			s := contenders(10)
			s.Engine = memory.New()
			_, err := s.Run(ctx)
			var stopped *demo.InterruptedError
			if !errors.As(err, &stopped) || stopped.Unreleased != 0 {
				t.Errorf("the error is %v, want an InterruptedError without unreleased locks", err)
			}
			if _, hold, err := interlock.New(s.Engine).Mutex("k").TryLock(t.Context()); err != nil {
				t.Errorf("the lock is not free: %v", err)
			} else {
				hold.Unlock()
			}
		})
	})
}

func TestThresholds(t *testing.T) {
	r := &loadtest.Result{Figures: []loadtest.Figure{{Name: "executed", Value: 1}, {Name: "p99", Value: 20, Unit: time.Millisecond}}}
	names := []string{"executed", "p99"}
	for text, want := range map[string]bool{
		"executed==1": true, "executed==2": false, "executed != 2": true, "executed<=1": true, "executed>=2": false, "executed<2": true, "executed>1": false,
		"p99<50ms": true, "p99<=20ms": true, "p99<0.02s": false, "p99>1s": false,
	} {
		all, err := loadtest.ParseThresholds(text, names)
		if err != nil || len(all) != 1 {
			t.Fatalf("%q: parsed as %v, %v; want one threshold", text, all, err)
		}
		if got := all[0].Met(r); got != want {
			t.Errorf("%q is met: %v, want %v", text, got, want)
		}
	}
	if all, err := loadtest.ParseThresholds("executed==1, p99<1s", names); err != nil || len(all) != 2 || all[1].String() != "p99<1s" {
		t.Errorf("ParseThresholds: got %v, %v; want two thresholds", all, err)
	}
	for text, want := range map[string]string{
		"executed": "has no comparison", "==1": "has no comparison", "executed==1,": "has no comparison", "holders==1": "unknown figure",
		"executed==": "not a whole number", "executed==-1": "not a whole number", "executed==1.5": "not a whole number", "executed=1": "has no comparison",
		"p99<50": "not a duration", "p99<-1s": "not a duration", "executed=<1": "unknown figure",
	} {
		if _, err := loadtest.ParseThresholds(text, names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want %q", text, err, want)
		}
	}
}

// A load test on the server of another party is an attack: such URLs are refused.
func TestOnlyLocalURLsAreAccepted(t *testing.T) {
	for _, url := range []string{"http://127.0.0.1/", "http://localhost:8080/x", "https://[::1]:1/", "http://127.9.9.9/"} {
		if err := loadtest.CheckURL(url); err != nil {
			t.Errorf("%s: got %v, want no error", url, err)
		}
	}
	for _, url := range []string{
		"http://192.0.2.1/", "http://example.com/", "http://localhost.example.com/", "http://127.0.0.1.nip.io/", "http://0.0.0.0/", "http://[::ffff:192.0.2.1]/",
		"http://10.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://LOCALHOST./", "http://[fe80::1%25lo]/",
	} {
		if err := loadtest.CheckURL(url); !errors.Is(err, loadtest.ErrNotLocal) {
			t.Errorf("%s: got %v, want %v", url, err, loadtest.ErrNotLocal)
		}
	}
	for _, url := range []string{"", "127.0.0.1", "ftp://127.0.0.1/", "http://", "http://u:p@127.0.0.1/", "http://127.0.0.1:x/"} {
		if err := loadtest.CheckURL(url); err == nil || errors.Is(err, loadtest.ErrNotLocal) {
			t.Errorf("%q: got %v, want an error other than ErrNotLocal", url, err)
		}
	}
	q := &loadtest.Requests{URL: "http://192.0.2.1/", Method: "GET", N: 1}
	if _, err := q.Run(t.Context()); !errors.Is(err, loadtest.ErrNotLocal) {
		t.Errorf("Run on another machine: got %v, want ErrNotLocal", err)
	}
}

func TestRequestsEndWithTheirContext(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	q := &loadtest.Requests{URL: s.URL, Method: "GET", N: 5}
	if _, err := q.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v, want DeadlineExceeded", err)
	}
}

// Only the codes of problem documents are counted.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		kind, body string
		want       map[string]int
	}{
		{"application/problem+json", `{"code": "in_progress", "status": 409}`, map[string]int{"in_progress": 3}},
		{"application/problem+json; charset=utf-8", `{"code": "duplicate"}`, map[string]int{"duplicate": 3}},
		{"application/json", `{"code": "in_progress"}`, map[string]int{}},
		{"application/problem+json", `{"code": 4}`, map[string]int{}},
		{"application/problem+json", `{"title": "no code"}`, map[string]int{}},
		{"application/problem+json", `{"code": "` + strings.Repeat("x", 65) + `"}`, map[string]int{}},
		{"application/problem+json", `<html>`, map[string]int{}},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(c.body))
		}))
		r, err := (&loadtest.Requests{URL: s.URL, Method: "GET", N: 3}).Run(t.Context())
		s.Close()
		if err != nil || !maps.Equal(r.Problems, c.want) || r.Statuses[http.StatusConflict] != 3 {
			t.Errorf("%s %s: got %v, %v; want the problems %v", c.kind, c.body, r, err, c.want)
		}
	}
}
