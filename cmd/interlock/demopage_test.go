package main_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var address = regexp.MustCompile(`(?m)^(?:page|页面) +(http://127\.0\.0\.1:\d+)/$`)

// page waits for the demo to say where its page is.
func (r *run) page(t *testing.T) string {
	t.Helper()
	var found []string
	await(t, "the demo has a page", func() bool {
		found = address.FindStringSubmatch(r.stdout.String())
		return found != nil && strings.Contains(r.stdout.String(), "Ctrl-C")
	})
	return found[1]
}

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// typed types what the demo says to type, and reports whether the shop that nobody
// guards took the money twice: on a busy machine five clicks may come one by one.
func typed(t *testing.T) (broken bool) {
	t.Helper()
	r := start(t, nil, "demo", "--n=2", "--listen=127.0.0.1:0", "--lang=zh")
	r.page(t)
	var said []string
	for line := range strings.Lines(r.stdout.String()) {
		if strings.Contains(line, "curl -s") {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			out, err := exec.CommandContext(ctx, "sh", "-c", line).CombinedOutput()
			if err != nil {
				t.Errorf("%s%v\n%s", line, err, out)
			}
			said = append(said, string(out))
		}
	}
	if len(said) != 5 {
		t.Fatalf("%d lines to type, want 5:\n%s", len(said), &r.stdout)
	}
	for i, want := range []string{`"R-1"`, `"R-1"`, `"double_charges":`, "retry_after_ms", `"locks"`} {
		if !strings.Contains(said[i], want) {
			t.Errorf("line %d does not say %s:\n%s", i+1, want, said[i])
		}
	}
	broken = strings.Contains(said[0], `"R-2"`)
	if broken == strings.Contains(said[2], `"double_charges":0`) {
		t.Errorf("the damage is not what the receipts say:\n%s\n%s", said[0], said[2])
	}
	if strings.Contains(said[1], `"R-2"`) {
		t.Errorf("behind Interlock the money is taken twice:\n%s", said[1])
	}
	r.interrupt(t)
	r.expect(t, 0, "接下来自己试")
	return broken
}

func TestDemoPage(t *testing.T) {
	t.Run("it is served after the pictures, and ends well with SIGTERM", func(t *testing.T) {
		t.Parallel()
		r := start(t, nil, "demo", "--n=2", "--listen=127.0.0.1:0")
		at := r.page(t)
		for _, path := range []string{"/", "/ratelimit/duplicate-submit-test"} { // S6
			if status, body := fetch(t, at+path); status != http.StatusOK || !strings.Contains(body, "<html") {
				t.Errorf("%s: %d", path, status)
			}
		}
		began := time.Now()
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		r.expect(t, 0, "verdict: it happened once", "--print-config")
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it takes %v to end", took)
		}
	})
	t.Run("what it says to type can be typed", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip("no curl here")
		}
		for try := 1; ; try++ {
			if typed(t) {
				return
			}
			if try == 5 {
				t.Fatalf("directly the money was never taken twice, in %d runs", try)
			}
		}
	})
	t.Run("it ends by itself", func(t *testing.T) {
		t.Parallel()
		start(t, nil, "demo", "--n=2", "--listen=localhost:0", "--for=200ms").expect(t, 0, "ends by itself after 200 ms")
	})
	t.Run("a port that is taken is said before anything is shown", func(t *testing.T) {
		t.Parallel()
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		r := start(t, nil, "demo", "--listen", taken.Addr().String())
		r.expect(t, 1, "nobody can listen on "+taken.Addr().String(), "address already in use", "--listen 127.0.0.1:0", "--no-page")
		if r.stdout.String() != "" {
			t.Errorf("it shows something:\n%s", &r.stdout)
		}
	})
	t.Run("the configuration can be printed", func(t *testing.T) {
		t.Parallel()
		start(t, nil, "demo", "--print-config", "--redis=redis://:secret@127.0.0.1:1").expect(t, 0,
			"listen: 127.0.0.1:7070\n", "to: http://127.0.0.1:7071\n", "engine: redis://127.0.0.1:1\n", "  - match: POST /concurrent-test\n")
	})
}
