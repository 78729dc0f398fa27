package config_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
)

// A change is one call of Watch's callback.
type change struct {
	c   *config.Config
	err error
}

// watched watches a file, and returns a channel with the calls.
func watched(t *testing.T, path string) <-chan change {
	t.Helper()
	said, done := make(chan change, 16), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{})
	go func() {
		close(ready)
		done <- config.Watch(ctx, path, func(c *config.Config, err error) { said <- change{c, err} })
	}()
	<-ready
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return said
}

const namespaced = "engine: memory\nto: http://127.0.0.1:9000\nnamespace: %s\nrules: []\n"

func named(name string) string { return strings.ReplaceAll(namespaced, "%s", name) }

// until repeats a change until the watcher reports the wanted content. Changes before the
// directory is watched count as the initial content.
func until(t *testing.T, said <-chan change, do func(attempt int), is func(change) bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for attempt := 0; ; attempt++ {
		do(attempt)
		again := time.After(2 * time.Second)
	waiting:
		for {
			select {
			case got := <-said:
				if is(got) {
					return
				}
			case <-again:
				break waiting
			case <-deadline:
				t.Fatal("the watcher reported nothing")
			}
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "interlock.yaml")
	write(t, path, named("before"))
	said := watched(t, path)
	is := func(name string) func(change) bool {
		return func(got change) bool { return got.err == nil && got.c.Namespace == name }
	}

	// The first change is repeated with a new comment until the watcher is ready.
	until(t, said, func(n int) { write(t, path, named("written")+strings.Repeat("#\n", n)) }, is("written"))
	until(t, said, func(n int) {
		write(t, path+"~", named("renamed")+strings.Repeat("#\n", n))
		if err := os.Rename(path+"~", path); err != nil {
			t.Fatal(err)
		}
	}, is("renamed"))
	until(t, said, func(n int) { write(t, path, "engine: memroy\n"+strings.Repeat("#\n", n)) }, func(got change) bool {
		return got.c == nil && got.err != nil && strings.Contains(got.err.Error(), "did you mean memory?")
	})
	until(t, said, func(int) { os.Remove(path) }, func(got change) bool { return os.IsNotExist(got.err) })
	until(t, said, func(n int) { write(t, path, named("back")+strings.Repeat("#\n", n)) }, is("back"))
}

// TestWatchLinks: Kubernetes mounts a file as a link into a linked directory, and changes
// it by replacing the directory's link.
func TestWatchLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mount := func(version, name string) {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, version, "interlock.yaml"), named(name))
		if err := os.Symlink(version, filepath.Join(dir, "..new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	mount("..1", "one")
	path := filepath.Join(dir, "interlock.yaml")
	if err := os.Symlink(filepath.Join("..data", "interlock.yaml"), path); err != nil {
		t.Fatal(err)
	}
	said := watched(t, path)
	last := ""
	until(t, said, func(n int) {
		last = "two" + strings.Repeat("o", n)
		mount("..2"+last, last)
	}, func(got change) bool { return got.err == nil && got.c.Namespace == last })
}

// TestChangesThatChangeNothing: writes without a change are not reported, and a mistake is
// reported once.
func TestChangesThatChangeNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "interlock.yaml")
	write(t, path, named("a"))
	said := ""
	look := config.Watcher(path, func(c *config.Config, err error) {
		if err != nil {
			said += "!"
			return
		}
		said += c.Namespace
	})
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, ""},
		{func() { write(t, path, named("a")) }, ""},
		{func() { write(t, path, named("b")) }, "b"},
		{func() {}, "b"},
		{func() { write(t, path, "engine: memory") }, "b!"},
		{func() {}, "b!"},
		{func() { os.Remove(path) }, "b!!"},
		{func() {}, "b!!"},
		{func() { write(t, path, "engine: memory") }, "b!!!"},
		{func() { write(t, path, named("b")) }, "b!!!b"},
	} {
		step.do()
		if look(); said != step.want {
			t.Fatalf("the watcher reported %q, want %q", said, step.want)
		}
	}
}

func TestWatchNothing(t *testing.T) {
	if err := config.Watch(t.Context(), filepath.Join(t.TempDir(), "no", "such.yaml"), nil); err == nil {
		t.Error("a missing directory is watched")
	}
}
