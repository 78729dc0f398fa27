package zookeepertest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A clock moves the wall clock of a server. A nil clock moves none.
type clock struct {
	library, file string
	step          time.Duration
}

// newClock builds the library that moves the clock, and writes its file.
func newClock(dir string) (*clock, error) {
	c := &clock{library: filepath.Join(dir, "clock.so"), file: filepath.Join(dir, "clock")}
	cmd := exec.Command("cc", "-shared", "-fPIC", "-O1", "-x", "c", "-o", c.library, "-")
	cmd.Stdin = strings.NewReader(redistest.ClockSource())
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the library that moves the clock (apt-get install gcc libc6-dev): %w\n%s", err, out)
	}
	return c, os.WriteFile(c.file, make([]byte, 16), 0o600)
}

// environment returns the variables that let the test move the server's clock.
func (c *clock) environment() []string {
	if c == nil {
		return nil
	}
	return []string{"LD_PRELOAD=" + c.library, "REDISTEST_CLOCK=" + c.file}
}

// Step moves the server's wall clock by d. Its monotonic clock does not change.
func (s *Server) Step(t testing.TB, d time.Duration) {
	t.Helper()
	if s.clock == nil {
		t.Fatal("the clock of a server from Start cannot be moved: use StartClocked")
	}
	s.clock.step += d
	file, err := os.OpenFile(s.clock.file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(s.clock.step)), 0)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}
