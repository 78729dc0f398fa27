package snippets_test

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/cases"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/snippets"
)

func ann(*http.Request) string { return "ann" }

// One of three concurrent requests reaches the handler of each snippet.
func TestTheSnippetsWork(t *testing.T) {
	for _, c := range []struct {
		name string
		wrap func(*interlock.Client, http.Handler) (http.Handler, error)
		want []int // statuses, sorted
	}{
		{"free", snippets.Free, []int{200, 429, 429}},
		{"window", snippets.Window, []int{200, 429, 429}},
		{"click", func(c *interlock.Client, h http.Handler) (http.Handler, error) { return snippets.Click(c, h, ann) }, []int{200, 429, 429}},
		{"once", func(c *interlock.Client, h http.Handler) (http.Handler, error) { return snippets.Once(c, h, ann) }, []int{200, 409, 409}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := c.wrap(interlock.New(nil), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }))
				if err != nil {
					t.Fatal(err)
				}
				var got []int
				var mu sync.Mutex
				together(3, func() {
					r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"order":"1","cart":"1"}`))
					r.Header.Set("Content-Type", "application/json")
					r.Header.Set("Idempotency-Key", "a-key-of-some-length")
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					mu.Lock()
					defer mu.Unlock()
					got = append(got, w.Code)
				})
				if slices.Sort(got); !slices.Equal(got, c.want) {
					t.Errorf("statuses %d, want %d", got, c.want)
				}
			})
		})
	}
}

func together(n int, do func()) {
	var all sync.WaitGroup
	for range n {
		all.Go(do)
	}
	all.Wait()
}

func TestTheLockSnippetsExclude(t *testing.T) {
	work := func(inside *int, most *int) func(context.Context) error {
		var mu sync.Mutex
		step := func(delta int) {
			mu.Lock()
			defer mu.Unlock()
			*inside += delta
			*most = max(*most, *inside)
		}
		return func(context.Context) error { step(1); time.Sleep(time.Second); step(-1); return nil }
	}
	for _, c := range []struct {
		name string
		do   func(context.Context, *interlock.Client, func(context.Context) error) error
		most int
	}{
		{"fair", func(ctx context.Context, c *interlock.Client, do func(context.Context) error) error {
			return snippets.Buy(ctx, c, "shoe", do)
		}, 1},
		{"lock", func(ctx context.Context, c *interlock.Client, do func(context.Context) error) error {
			return snippets.Deduct(ctx, c, "7", func(ctx context.Context, _ uint64) error { return do(ctx) })
		}, 1},
		{"write", func(ctx context.Context, c *interlock.Client, do func(context.Context) error) error {
			return snippets.Take(ctx, c, "shoe", do)
		}, 1},
		{"read", func(ctx context.Context, c *interlock.Client, do func(context.Context) error) error {
			return snippets.Count(ctx, c, "shoe", do)
		}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := interlock.New(nil)
				inside, most := 0, 0
				do := work(&inside, &most)
				together(3, func() {
					if err := c.do(t.Context(), client, do); err != nil {
						t.Error(err)
					}
				})
				if most != c.most {
					t.Errorf("up to %d holders at once, want %d", most, c.most)
				}
				if err := client.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestADayIsImportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		load, err := snippets.Importer(interlock.New(nil), func(context.Context, string) (int, error) {
			ran++
			time.Sleep(time.Second)
			return 1000, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		together(3, func() {
			if rows, err := load(t.Context(), "2026-11-15"); rows != 1000 || err != nil {
				t.Errorf("got %d rows, %v; want 1000", rows, err)
			}
		})
		if ran != 1 {
			t.Errorf("the import ran %d times, want once", ran)
		}
	})
}

// The page has a short snippet for every case, and every snippet is used.
func TestEveryCaseHasASnippet(t *testing.T) {
	used := make(map[string]bool)
	for _, c := range cases.Cases() {
		text, err := snippets.Of(c.Snippet)
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
		if n := strings.Count(text, "\n"); n < 3 || n > 16 || strings.HasPrefix(text, "package") {
			t.Errorf("%s: the snippet has %d lines, want 3 to 16 without the package clause:\n%s", c.ID, n, text)
		}
		used[c.Snippet] = true
	}
	all, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if file != "doc.go" && !strings.HasSuffix(file, "_test.go") && !used[file] {
			t.Errorf("no case uses %s", file)
		}
	}
}
