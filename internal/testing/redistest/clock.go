package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// SteppedClock is an argument for [Start]: it lets the test move the server's
// wall clock with [Server.Step]. It needs libfaketime.
const SteppedClock = "redistest:stepped-clock"

// Step moves the server's wall clock by d. The monotonic clock, which Redis uses for
// its timers, does not change.
func (s *Server) Step(d time.Duration) {
	s.t.Helper()
	if !s.stepped {
		s.t.Fatal("redistest.Start without redistest.SteppedClock: the clock cannot be moved")
	}
	before, known := s.offset()
	s.step += d
	s.writeClock()
	// Valkey reads the wall clock from time to time, and adds monotonic time in between.
	for end := time.Now().Add(patience); known && time.Now().Before(end); time.Sleep(time.Millisecond) {
		if now, ok := s.offset(); !ok || (now-before-d).Abs() <= d.Abs()/2 {
			return
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

// clock returns the environment variables that let the test move the server's clock.
func (s *Server) clock() []string {
	if !s.stepped {
		return nil
	}
	lib := library("faketime/libfaketime.so.1")
	if lib == "" {
		s.t.Fatal("libfaketime is not installed: apt-get install libfaketime")
	}
	s.writeClock()
	return []string{
		// Debian's redis-server links jemalloc, which reads the time before
		// libfaketime is ready, and then hangs. If the C library is loaded first,
		// jemalloc is not used.
		"LD_PRELOAD=" + lib + ":libc.so.6",
		"FAKETIME_TIMESTAMP_FILE=" + s.clockFile(),
		"FAKETIME_NO_CACHE=1",
		"DONT_FAKE_MONOTONIC=1",
	}
}

func (s *Server) clockFile() string { return filepath.Join(s.dir, "clock") }

// writeClock replaces the file atomically, because the server may read it at any time.
func (s *Server) writeClock() {
	s.t.Helper()
	name := s.clockFile()
	if err := os.WriteFile(name+".new", fmt.Appendf(nil, "%+.6f\n", s.step.Seconds()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		s.t.Fatal(err)
	}
}
