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

// A store is the cache directory of a project.
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

// keep stores an entry that was last used that long ago.
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

// setTrimmed sets the time of the last trim.
func (s store) setTrimmed(t *testing.T, at time.Time) {
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

func TestUnusedEntriesAreRemovedOnceADay(t *testing.T) {
	s := newStore(t)
	old, recent := "0123456789abcdef01234567", "1123456789abcdef01234567"
	s.keep(t, old, 6*day)
	s.keep(t, recent, 4*day)
	s.keep(t, "tmp-1", 6*day) // a temporary file of a killed build
	s.weave(t)
	if !s.has(old) {
		t.Error("the cache was trimmed twice on the same day")
	}
	s.setTrimmed(t, time.Now().Add(-day-time.Minute))
	overlay := s.weave(t)
	if s.has(old) || s.has("tmp-1") || !s.has(recent) {
		t.Errorf("after a day: the old entry exists: %v, the temporary file: %v, the recent entry: %v; want only the recent entry", s.has(old), s.has("tmp-1"), s.has(recent))
	}
	if _, err := os.Stat(overlay); err != nil {
		t.Error(err)
	}

	t.Run("a last trim in the future, or an invalid one, is ignored", func(t *testing.T) {
		s.keep(t, old, 6*day)
		s.setTrimmed(t, time.Now().Add(2*day))
		s.weave(t)
		if s.has(old) {
			t.Error("a last trim in the future: the old entry still exists")
		}
		s.keep(t, old, 6*day)
		if err := os.WriteFile(filepath.Join(s.dir, "trim.txt"), []byte("never\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		s.weave(t)
		if s.has(old) {
			t.Error("an invalid last trim: the old entry still exists")
		}
	})
}

func TestAnEntryInUseIsNotTrimmed(t *testing.T) {
	s := newStore(t)
	overlay := s.weave(t)
	age(t, filepath.Dir(overlay), 30*day)
	s.setTrimmed(t, time.Now().Add(-2*day))
	if again := s.weave(t); again != overlay {
		t.Fatalf("got the overlay %s, want %s", again, overlay)
	}
	if _, err := os.Stat(overlay); err != nil {
		t.Errorf("the overlay that was just returned was trimmed: %v", err)
	}
}

func TestConcurrentBuildsMayTrim(t *testing.T) {
	s := newStore(t)
	for i := range 200 {
		s.keep(t, "0123456789abcdef0123"+strconv.Itoa(1000+i), 6*day)
	}
	s.setTrimmed(t, time.Now().Add(-2*day))
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
	if err != nil || len(entries) > 3 { // the overlay, trim.txt, and a temporary file
		t.Errorf("%d entries are left, %v; want at most 3", len(entries), err)
	}
}
