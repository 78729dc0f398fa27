package weave_test

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/weave"
)

// A store is the cache of woven files of a project, as the file system shows it.
type store struct {
	project *project
	dir     string
}

func newStore(t *testing.T) store {
	t.Helper()
	p := newProject(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	s := store{p, filepath.Join(os.Getenv("XDG_CACHE_HOME"), "interlock", "weave")}
	s.weave(t)
	return s
}

func (s store) weave(t *testing.T) string {
	t.Helper()
	overlay, err := weave.Overlay(t.Context(), s.project.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return overlay
}

// keep puts a text there that was last used so long ago.
func (s store) keep(t *testing.T, name string, ago time.Duration) {
	t.Helper()
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	age(t, dir, ago)
}

func age(t *testing.T, path string, ago time.Duration) {
	t.Helper()
	then := time.Now().Add(-ago)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// trimmed returns when the cache was last trimmed.
func (s store) trimmed(t *testing.T, at time.Time) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "trim.txt"), []byte(strconv.FormatInt(at.Unix(), 10)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s store) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

const day = 24 * time.Hour

func TestWhatNobodyUsesIsRemovedOnceADay(t *testing.T) {
	s := newStore(t)
	old, recent := "0123456789abcdef01234567", "1123456789abcdef01234567"
	s.keep(t, old, 6*day)
	s.keep(t, recent, 4*day)
	s.keep(t, "tmp-1", 6*day) // of a build that was killed
	s.weave(t)
	if !s.has(old) {
		t.Error("it was trimmed twice on the same day")
	}
	s.trimmed(t, time.Now().Add(-day-time.Minute))
	overlay := s.weave(t)
	if s.has(old) || s.has("tmp-1") || !s.has(recent) {
		t.Errorf("after a day: the old one is there: %v, what was left over: %v, the recent one: %v", s.has(old), s.has("tmp-1"), s.has(recent))
	}
	if _, err := os.Stat(overlay); err != nil {
		t.Error(err)
	}

	t.Run("a time to come, or none, does not stop that", func(t *testing.T) {
		s.keep(t, old, 6*day)
		s.trimmed(t, time.Now().Add(2*day))
		s.weave(t)
		if s.has(old) {
			t.Error("the old one is there")
		}
		s.keep(t, old, 6*day)
		if err := os.WriteFile(filepath.Join(s.dir, "trim.txt"), []byte("never\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		s.weave(t)
		if s.has(old) {
			t.Error("the old one is there")
		}
	})
}

func TestWhatIsUsedStays(t *testing.T) {
	s := newStore(t)
	overlay := s.weave(t)
	age(t, filepath.Dir(overlay), 30*day)
	s.trimmed(t, time.Now().Add(-2*day))
	if again := s.weave(t); again != overlay {
		t.Fatalf("another overlay: %s, not %s", again, overlay)
	}
	if _, err := os.Stat(overlay); err != nil {
		t.Errorf("an overlay that was just returned: %v", err)
	}
}

func TestBuildsMayTrimAtTheSameTime(t *testing.T) {
	s := newStore(t)
	for i := range 200 {
		s.keep(t, "0123456789abcdef0123"+strconv.Itoa(1000+i), 6*day)
	}
	s.trimmed(t, time.Now().Add(-2*day))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			overlay, err := weave.Overlay(t.Context(), s.project.dir, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(overlay); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) > 3 { // the overlay, the time, and what is in the making
		t.Errorf("%d entries are left, %v", len(entries), err)
	}
}
