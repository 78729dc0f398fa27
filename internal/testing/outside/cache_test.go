package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

// moduleCache returns a module cache that is kept from run to run, and removes the modules
// of this repository from it. The go command's build cache depends on the directory, and
// go tool ignores -trimpath: in a new directory everything would be compiled again.
func moduleCache(t *testing.T) string {
	t.Helper()
	home, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "interlock", "outside")
	lockDir(t, dir)
	for _, ours := range []string{"", "cache/download"} {
		if err := remove(filepath.Join(dir, ours, filepath.Dir(repo.Path))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lockDir waits until no other test uses a directory, and reserves it for this test.
func lockDir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "one-at-a-time"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() }) // releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

// remove removes a directory whose files may be read-only: some commands ignore
// -modcacherw.
func remove(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return err
	}) // RemoveAll reports what could not be changed
	return os.RemoveAll(dir)
}
