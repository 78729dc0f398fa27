package redistest_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestServer(t *testing.T) {
	t.Parallel()

	t.Run("two servers have separate keys", func(t *testing.T) {
		t.Parallel()
		a, b := redistest.Start(t), redistest.Start(t)
		a.Must("SET", "k", "v")
		if got := a.Must("GET", "k"); got != "v" {
			t.Errorf("GET k = %q, want v", got)
		}
		if got := b.Must("GET", "k"); got != "(nil)" {
			t.Errorf("GET k on the other server = %q, want (nil)", got)
		}
		if _, err := a.Do("NO", "SUCH"); err == nil || !strings.Contains(err.Error(), "unknown command") {
			t.Errorf("an unknown command returns error %v, want the server's", err)
		}
	})

	t.Run("a restarted server is empty unless it has an append-only file", func(t *testing.T) {
		t.Parallel()
		a, b := redistest.Start(t), redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
		for _, s := range []*redistest.Server{a, b} {
			s.Must("SET", "k", "v")
			s.Restart()
		}
		if got := a.Must("GET", "k"); got != "(nil)" {
			t.Errorf("without an append-only file, GET k = %q, want (nil)", got)
		}
		if got := b.Must("GET", "k"); got != "v" {
			t.Errorf("with an append-only file, GET k = %q, want v", got)
		}
	})

	t.Run("a stopped server answers after Cont", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Stop()
		answer := make(chan string)
		go func() { answer <- s.Must("PING") }()
		select {
		case <-answer:
			t.Error("a stopped server answered")
		case <-time.After(100 * time.Millisecond):
		}
		s.Cont()
		if got := <-answer; got != "PONG" {
			t.Errorf("PING = %q, want PONG", got)
		}
	})

	t.Run("the wall clock can be moved, and keys expire by it", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, redistest.SteppedClock)
		before := seconds(t, s)
		s.Must("SET", "k", "v", "PX", "30000")
		s.Step(time.Minute)
		if moved := seconds(t, s) - before; moved < 59 || moved > 70 {
			t.Errorf("the clock moved by %d s, want 60", moved)
		}
		if got := s.Must("GET", "k"); got != "(nil)" {
			t.Errorf("GET k = %q, want (nil)", got)
		}
		s.Step(-2 * time.Minute)
		if moved := seconds(t, s) - before; moved < -61 || moved > -50 {
			t.Errorf("the clock moved by %d s, want -60", moved)
		}
	})
}

func seconds(t *testing.T, s *redistest.Server) int {
	t.Helper()
	first, _, _ := strings.Cut(s.Must("TIME"), "\n")
	n, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
