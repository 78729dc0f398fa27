package postgres_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

// smallDisk returns a directory with 48 MB for a server, until the test ends.
func smallDisk(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "interlock-disk-") //nolint:usetesting // the account of the server must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=48m,mode=0777"); err != nil {
		t.Skipf("needs the permission to mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestAFullDiskRefusesAndLosesNothing(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), smallDisk(t)
	s := postgrestest.StartServer(t)
	owner := s.Dir() // the server may write only to directories of its own account
	if err := chownLike(dir, owner); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "postgres", "CREATE TABLESPACE small LOCATION '"+dir+"'")
	s.Exec(t, "postgres", "CREATE DATABASE full_disk TABLESPACE small")
	d := &postgrestest.Database{Server: s, Name: "full_disk"}
	migrate(t, d.URL())
	e := open(t, d.URL())
	l, r, c := e.Capabilities().Ledger, request(t, "ann:1", "1"), claim(t, "1")
	g := granted(t, e, r)
	if _, err := l.Claim(ctx, c); err != nil {
		t.Fatal(err)
	}
	reserve := filepath.Join(dir, "reserve")
	if err := os.WriteFile(reserve, make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Exec(t, "CREATE TABLE junk (b bytea); ALTER TABLE junk ALTER b SET STORAGE EXTERNAL")
	for _, size := range []string{"1000000", "20000"} {
		for full := false; !full; {
			_, err := s.Query(d.Name, "INSERT INTO junk SELECT repeat('x', "+size+")::bytea")
			full = err != nil
		}
	}
	x, result := done(c), make([]byte, 1<<20)
	_, _ = rand.Read(result) // it cannot be compressed
	x.Result = result
	if _, err := l.Settle(ctx, x); !errors.Is(err, engine.ErrFull) || errors.Is(err, engine.ErrUnknown) {
		t.Errorf("settle: error %v, want %v", err, engine.ErrFull)
	}
	wantState(t, e, c.Key, engine.Running)
	if err := os.Remove(reserve); err != nil {
		t.Fatal(err)
	}
	if o, err := l.Settle(ctx, x); err != nil || o != engine.Released {
		t.Errorf("settle: %v, error %v; want %v", o, err, engine.Released)
	}
	r.Retry = true
	if again := granted(t, e, r); again != g {
		t.Errorf("the grant went from %+v to %+v", g, again)
	}
	if found := wantState(t, e, c.Key, engine.Done); !bytes.Equal(found.Result, result) {
		t.Errorf("the result has %d bytes, want the %d that were stored", len(found.Result), len(result))
	}
}

// chownLike gives dir to the owner of another directory.
func chownLike(dir, other string) error {
	info, err := os.Stat(other)
	if err != nil {
		return err
	}
	stat := info.Sys().(*syscall.Stat_t)
	return os.Chown(dir, int(stat.Uid), int(stat.Gid))
}
