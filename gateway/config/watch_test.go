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

// watch watches a file until the test ends, and returns the calls of the callback.
func watch(t *testing.T, path, loaded string) <-chan change {
	t.Helper()
	reports, done := make(chan change, 16), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{})
	go func() {
		close(ready)
		done <- config.Watch(ctx, path, []byte(loaded), func(c *config.Config, err error) { reports <- change{c, err} })
	}()
	<-ready
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return reports
}

// withNamespace returns a file with that namespace.
func withNamespace(name string) string {
	return "engine: memory\nto: http://127.0.0.1:9000\nnamespace: " + name + "\nrules: []\n"
}

// await waits until the watcher reports the wanted content, for up to two minutes.
func await(t *testing.T, reports <-chan change, wanted func(change) bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		select {
		case got := <-reports:
			if wanted(got) {
				return
			}
		case <-deadline:
			t.Fatal("the watcher did not report the change within two minutes")
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
	write(t, path, withNamespace("before"))
	reports := watch(t, path, withNamespace("before"))
	hasNamespace := func(name string) func(change) bool {
		return func(got change) bool { return got.err == nil && got.c.Namespace == name }
	}

	write(t, path, withNamespace("written"))
	await(t, reports, hasNamespace("written"))
	write(t, path+"~", withNamespace("renamed"))
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
	await(t, reports, hasNamespace("renamed"))
	write(t, path, "engine: memroy\n")
	await(t, reports, func(got change) bool {
		return got.c == nil && got.err != nil && strings.Contains(got.err.Error(), "did you mean memory?")
	})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	await(t, reports, func(got change) bool { return os.IsNotExist(got.err) })
	write(t, path, withNamespace("back"))
	await(t, reports, hasNamespace("back"))
}

// TestWatchReportsAnEarlierChange: Watch reports a change between the read of the
// configuration in use and the start of the watch.
func TestWatchReportsAnEarlierChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "interlock.yaml")
	write(t, path, withNamespace("changed"))
	await(t, watch(t, path, withNamespace("loaded")), func(got change) bool { return got.err == nil && got.c.Namespace == "changed" })
}

// TestWatchLinks: Watch reports a change of a file that Kubernetes mounts. Such a file is
// a link into a linked directory, and Kubernetes replaces the directory's link.
func TestWatchLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mount := func(version, name string) {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, version, "interlock.yaml"), withNamespace(name))
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
	reports := watch(t, path, withNamespace("one"))
	mount("..2", "two")
	await(t, reports, func(got change) bool { return got.err == nil && got.c.Namespace == "two" })
}

// TestChangesThatChangeNothing: the watcher does not report a write of the same content,
// and reports a mistake once.
func TestChangesThatChangeNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "interlock.yaml")
	write(t, path, withNamespace("a"))
	reported := "" // the namespace of each configuration, and ! for each error
	check := config.Watcher(path, []byte(withNamespace("a")), func(c *config.Config, err error) {
		if err != nil {
			reported += "!"
			return
		}
		reported += c.Namespace
	})
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, ""},
		{func() { write(t, path, withNamespace("a")) }, ""},
		{func() { write(t, path, withNamespace("b")) }, "b"},
		{func() {}, "b"},
		{func() { write(t, path, "engine: memory") }, "b!"},
		{func() {}, "b!"},
		{func() { os.Remove(path) }, "b!!"},
		{func() {}, "b!!"},
		{func() { write(t, path, "engine: memory") }, "b!!!"},
		{func() { write(t, path, withNamespace("b")) }, "b!!!b"},
	} {
		step.do()
		if check(); reported != step.want {
			t.Fatalf("the watcher reported %q, want %q", reported, step.want)
		}
	}
}

func TestWatchRefusesAMissingDirectory(t *testing.T) {
	if err := config.Watch(t.Context(), filepath.Join(t.TempDir(), "no", "such.yaml"), nil, nil); err == nil {
		t.Error("Watch returned nil for a missing directory, want an error")
	}
}
