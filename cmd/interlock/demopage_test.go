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

// page waits until the demo prints the address of its page.
func (r *run) page(t *testing.T) string {
	t.Helper()
	var found []string
	await(t, "the demo prints the address of its page", func() bool {
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

// runPrinted runs the commands that the demo prints, and reports whether the unguarded
// shop charged twice. On a busy machine the clicks may arrive one after the other, and
// then the shop charges once.
func runPrinted(t *testing.T) (chargedTwice bool) {
	t.Helper()
	r := start(t, nil, "demo", "--n=2", "--listen=127.0.0.1:0", "--lang=zh")
	r.page(t)
	var outputs []string
	for line := range strings.Lines(r.stdout.String()) {
		if strings.Contains(line, "curl -s") {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, "sh", "-c", line).CombinedOutput()
			if err != nil {
				t.Errorf("the printed command failed: %s%v\n%s", line, err, out)
			}
			outputs = append(outputs, string(out))
		}
	}
	if len(outputs) != 5 {
		t.Fatalf("the demo prints %d commands, want 5:\n%s", len(outputs), &r.stdout)
	}
	for i, want := range []string{`"R-1"`, `"R-1"`, `"double_charges":`, "retry_after_ms", `"locks"`} {
		if !strings.Contains(outputs[i], want) {
			t.Errorf("the output of command %d lacks %s:\n%s", i+1, want, outputs[i])
		}
	}
	chargedTwice = strings.Contains(outputs[0], `"R-2"`)
	if chargedTwice == strings.Contains(outputs[2], `"double_charges":0`) {
		t.Errorf("double_charges does not match the receipts:\n%s\n%s", outputs[0], outputs[2])
	}
	if strings.Contains(outputs[1], `"R-2"`) {
		t.Errorf("behind Interlock the order is charged twice:\n%s", outputs[1])
	}
	r.interrupt(t)
	r.expect(t, 0, "接下来自己试")
	return chargedTwice
}

func TestDemoPage(t *testing.T) {
	t.Run("the page is served after the charts, and SIGTERM stops it", func(t *testing.T) {
		t.Parallel()
		r := start(t, nil, "demo", "--n=2", "--listen=127.0.0.1:0")
		url := r.page(t)
		// Requirement S6: both paths serve the page.
		for _, path := range []string{"/", "/ratelimit/duplicate-submit-test"} {
			if status, body := fetch(t, url+path); status != http.StatusOK || !strings.Contains(body, "<html") {
				t.Errorf("%s: got %d, want 200 and a page", path, status)
			}
		}
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		r.expect(t, 0, "verdict: placed once", "--print-config")
	})
	t.Run("the printed commands work", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip("curl is not installed")
		}
		for try := 1; ; try++ {
			if runPrinted(t) {
				return
			}
			if try == 5 {
				t.Fatalf("without Interlock, the order was not charged twice in any of %d runs", try)
			}
		}
	})
	t.Run("--for stops the page", func(t *testing.T) {
		t.Parallel()
		start(t, nil, "demo", "--n=2", "--listen=localhost:0", "--for=200ms").expect(t, 0, "it stops after 200 ms")
	})
	t.Run("a port in use is reported before the demo starts", func(t *testing.T) {
		t.Parallel()
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		r := start(t, nil, "demo", "--listen", taken.Addr().String())
		r.expect(t, 1, "cannot listen on "+taken.Addr().String(), "address already in use", "--listen 127.0.0.1:0", "--no-page")
		if r.stdout.String() != "" {
			t.Errorf("the demo started:\n%s", &r.stdout)
		}
	})
	t.Run("--print-config prints the configuration", func(t *testing.T) {
		t.Parallel()
		start(t, nil, "demo", "--print-config", "--engine=redis://:secret@127.0.0.1:1").expect(t, 0,
			"listen: 127.0.0.1:7070\n", "to: http://127.0.0.1:7071\n", "engine: redis://127.0.0.1:1\n", "  - match: POST /concurrent-test\n")
	})
}
