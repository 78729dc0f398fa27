package etcdtest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

var building struct {
	once    sync.Once
	program string
	err     error
	output  []byte
}

// Build builds the server, if that has not been done on this machine. Tests that measure
// time call it first.
func Build(t testing.TB) {
	t.Helper()
	build(t)
}

// build returns the path of the server's program.
func build(t testing.TB) string {
	t.Helper()
	building.once.Do(func() { building.program, building.output, building.err = buildOnce() })
	if building.err != nil {
		t.Fatalf("build etcd from internal/testing/etcdtest/testdata/server: %v\n%s", building.err, building.output)
	}
	return building.program
}

// buildOnce builds the program into the cache. The tests of several packages run at the same
// time, so one builds and the others wait.
func buildOnce() (program string, output []byte, err error) {
	_, file, _, _ := runtime.Caller(0)
	source := filepath.Join(filepath.Dir(file), "testdata", "server")
	sum, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return "", nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	hash := sha256.Sum256(append(sum, runtime.Version()...))
	program = filepath.Join(cache, "interlock-etcdtest", "etcd-"+hex.EncodeToString(hash[:8]))
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", nil, err
	}
	lock, err := os.OpenFile(program+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", nil, err
	}
	defer lock.Close() // also unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", nil, err
	}
	if _, err := os.Stat(program); err == nil {
		return program, nil, nil
	}
	cmd := exec.Command("go", "build", "-o", program+".new", ".")
	cmd.Dir, cmd.Env = source, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", output, err
	}
	return program, nil, os.Rename(program+".new", program)
}
