package demo_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/engine/memory"
)

var update = flag.Bool("update", false, "write what is shown to testdata")

// In virtual time the whole demo is the same every time.
func TestRunShowsTheSameInBothLanguages(t *testing.T) {
	for _, c := range []struct {
		name     string
		language i18n.Language
		engine   string
	}{
		{"en", i18n.English, "the embedded engine"},
		{"zh", i18n.Chinese, "内嵌引擎"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out, chatter bytes.Buffer
				show := demo.Demo{Clicks: 100, Hold: 3 * time.Millisecond, Key: "demo:1",
					Out: &out, Chatter: &chatter, Language: c.language, Width: 80}
				if err := show.Run(t.Context(), demo.Stage{Name: c.engine}); err != nil {
					t.Fatal(err)
				}
				if chatter.Len() > 0 {
					t.Errorf("it says %q about a demo that is over at once", &chatter)
				}
				golden(t, filepath.Join("testdata", c.name+".txt"), out.String())
			})
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("it shows\n%s, want what is in %s\n%s", got, name, want)
	}
}

func TestRunAnnouncesWhatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var chatter bytes.Buffer
		show := demo.Demo{Clicks: 100, Hold: 100 * time.Millisecond, Key: "demo:1", Out: io.Discard, Chatter: &chatter, Width: 80}
		if err := show.Run(t.Context(), demo.Stage{}); err != nil {
			t.Fatal(err)
		}
		if got, want := chatter.String(), "this takes about 10 s; Ctrl-C ends it\n"; got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
	}{
		{"without a lock", 50 * time.Millisecond},
		{"with one", 250 * time.Millisecond},
		{"in the middle of an order", 10*time.Second + 250*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.after)
				defer cancel()
				e := memory.New()
				show := demo.Demo{Clicks: 100, Hold: 100 * time.Millisecond, Key: "demo:1", Out: io.Discard, Chatter: io.Discard, Width: 80}
				began := time.Now()
				err := show.Run(ctx, demo.Stage{Engine: e})
				var stopped *demo.InterruptedError
				if !errors.As(err, &stopped) || stopped.Left != 0 || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ends with %v, want an interruption that left nothing", err)
				}
				if late := time.Since(began) - c.after; late != 0 {
					t.Errorf("it took another %v", late)
				}
				if _, hold, err := interlock.New(e).Mutex("demo:1").TryLock(t.Context()); err != nil {
					t.Errorf("the lock is not free: %v", err)
				} else {
					hold.Unlock()
				}
			})
		})
	}
}
