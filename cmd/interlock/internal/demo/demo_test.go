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

var update = flag.Bool("update", false, "update the golden files")

// In virtual time the output of the demo is deterministic.
func TestRunMatchesTheGoldenFiles(t *testing.T) {
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
				var out, notes bytes.Buffer
				show := demo.Demo{Clicks: 100, Hold: 3 * time.Millisecond, Key: "demo:1",
					Out: &out, Notes: &notes, Language: c.language, Width: 80}
				if err := show.Run(t.Context(), demo.Target{Name: c.engine}); err != nil {
					t.Fatal(err)
				}
				if notes.Len() > 0 {
					t.Errorf("a short demo printed the note %q, want none", &notes)
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
		t.Errorf("the output is\n%s, want %s\n%s", got, name, want)
	}
}

func TestRunAnnouncesALongDemo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notes bytes.Buffer
		show := demo.Demo{Clicks: 100, Hold: 100 * time.Millisecond, Key: "demo:1", Out: io.Discard, Notes: &notes, Width: 80}
		if err := show.Run(t.Context(), demo.Target{}); err != nil {
			t.Fatal(err)
		}
		if got, want := notes.String(), "this takes about 10 s; Ctrl-C stops it\n"; got != want {
			t.Errorf("the note is %q, want %q", got, want)
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
	}{
		{"without a lock", 50 * time.Millisecond},
		{"with a lock", 250 * time.Millisecond},
		{"during an order", 10*time.Second + 250*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.after)
				defer cancel()
				e := memory.New()
				show := demo.Demo{Clicks: 100, Hold: 100 * time.Millisecond, Key: "demo:1", Out: io.Discard, Notes: io.Discard, Width: 80}
				began := time.Now()
				err := show.Run(ctx, demo.Target{Engine: e})
				var stopped *demo.InterruptedError
				if !errors.As(err, &stopped) || stopped.Unreleased != 0 || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the error is %v, want an InterruptedError without unreleased locks", err)
				}
				if late := time.Since(began) - c.after; late != 0 {
					t.Errorf("Run returned %v after its context ended, want at once", late)
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
