package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

// moduleCache is a place for modules that stays from run to run, without ours. The
// go command knows again what it has compiled by where it was, and go tool heeds
// no -trimpath: in another place each time, everything would be compiled anew.
func moduleCache(t *testing.T) string {
	t.Helper()
	home, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "interlock", "outside")
	alone(t, dir)
	for _, ours := range []string{"", "cache/download"} {
		if err := remove(filepath.Join(dir, ours, filepath.Dir(repo.Path))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// alone waits until no other test uses a directory, and keeps it for this one.
func alone(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "one-at-a-time"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() }) // and with it the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

// remove takes away what may be read only: not every command knows -modcacherw.
func remove(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return err
	}) // what cannot be changed, RemoveAll says
	return os.RemoveAll(dir)
}
