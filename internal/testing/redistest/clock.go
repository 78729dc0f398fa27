package redistest

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// SteppedClock is an argument for [Start]: it lets the test move the server's wall clock
// with [Server.Step]. It needs a C compiler, and a server that is not linked statically;
// see [Server.NeedsClock].
const SteppedClock = "redistest:stepped-clock"

// Step moves the server's wall clock by d. The monotonic clock, which Redis uses for
// its timers, does not change. If the clock cannot be moved, Step skips the test that
// started the server.
func (s *Server) Step(d time.Duration) {
	s.t.Helper()
	if !s.stepped {
		s.t.Fatal("redistest.Start without redistest.SteppedClock: the clock cannot be moved")
	}
	s.NeedsClock(s.t)
	if d == 0 {
		return
	}
	before, known := s.offset()
	s.step += d
	s.writeClock()
	// Valkey reads the wall clock from time to time, and adds monotonic time in between.
	for end := time.Now().Add(patience); known; time.Sleep(time.Millisecond) {
		now, ok := s.offset()
		if !ok || (now-before-d).Abs() <= d.Abs()/2 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the server's clock moved by %v in %v, want %v", now-before, patience, d)
		}
	}
}

// offset returns how far the clock that scripts see is ahead of the test's clock. It
// reports false if the server does not answer.
func (s *Server) offset() (time.Duration, bool) {
	if !s.answers() {
		return 0, false
	}
	reply, err := s.Do("EVAL", "local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000)", "0")
	ms, errNumber := strconv.ParseInt(reply, 10, 64)
	return time.Until(time.UnixMilli(ms)), err == nil && errNumber == nil
}

//go:embed testdata/clock.c
var clockSource string

// prepareClock builds the library that moves the server's clock, and writes its file.
func (s *Server) prepareClock() {
	s.t.Helper()
	cmd := exec.Command("cc", "-shared", "-fPIC", "-O1", "-x", "c", "-o", s.clockLibrary(), "-")
	cmd.Stdin = strings.NewReader(clockSource)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("building the library that moves the clock (apt-get install gcc libc6-dev): %v\n%s", err, out)
	}
	if err := os.WriteFile(s.clockFile(), make([]byte, 16), 0o600); err != nil {
		s.t.Fatal(err)
	}
	// The thread would compute its wake-up time from the moved clock, and wait too long.
	s.args = append(s.args, "--jemalloc-bg-thread", "no")
}

func (s *Server) clockLibrary() string { return filepath.Join(s.dir, "clock.so") }
func (s *Server) clockFile() string    { return filepath.Join(s.dir, "clock") }

// clock returns the environment variables that let the test move the server's clock.
func (s *Server) clock() []string {
	if !s.stepped {
		return nil
	}
	return []string{"LD_PRELOAD=" + s.clockLibrary(), "REDISTEST_CLOCK=" + s.clockFile()}
}

// NeedsClock skips a test if the server has not loaded the library that moves its clock.
func (s *Server) NeedsClock(t testing.TB) {
	t.Helper()
	file, err := os.ReadFile(s.clockFile())
	if err != nil {
		t.Fatal(err)
	}
	if binary.NativeEndian.Uint64(file[8:]) == 0 {
		t.Skipf("the clock of redis-server %s cannot be moved: it is linked statically", Version(t))
	}
}

// writeClock sets the clock of the running server.
func (s *Server) writeClock() {
	s.t.Helper()
	file, err := os.OpenFile(s.clockFile(), os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(s.step)), 0)
	if err := errors.Join(err, file.Close()); err != nil {
		s.t.Fatal(err)
	}
}
