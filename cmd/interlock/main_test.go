package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// interlock is the path of the binary, which is built once.
var interlock string

func TestMain(m *testing.M) {
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "interlock")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	interlock = filepath.Join(dir, "interlock")
	if out, err := exec.Command("go", "build", "-o", interlock, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A run is a running or finished process of the binary.
type run struct {
	cmd            *exec.Cmd
	stdout, stderr output
}

// An output can be read while it is written.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts the binary with a minimal environment.
func start(t *testing.T, env []string, args ...string) *run {
	t.Helper()
	r := &run{cmd: exec.CommandContext(t.Context(), interlock, args...)}
	r.cmd.Env = append([]string{"LANG=C", "COLUMNS=80", "INTERLOCK_RUN=" + os.Getenv("INTERLOCK_RUN")}, env...)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// interrupt sends SIGINT, as Ctrl-C does.
func (r *run) interrupt(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
}

// wait returns the exit code.
func (r *run) wait(t *testing.T) int {
	t.Helper()
	err := r.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

// expect waits for the exit code, and for each of the words on stdout or stderr.
func (r *run) expect(t *testing.T, code int, words ...string) {
	t.Helper()
	got := r.wait(t)
	output := r.stdout.String() + r.stderr.String()
	for _, w := range words {
		if !strings.Contains(output, w) {
			t.Errorf("the output lacks %q", w)
		}
	}
	if got != code {
		t.Errorf("the exit code is %d, want %d", got, code)
	}
	if t.Failed() {
		t.Logf("$ interlock %s\n%s%s", strings.Join(r.cmd.Args[1:], " "), &r.stdout, &r.stderr)
	}
}

// await polls a condition, for up to two minutes: a busy machine may be slow.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within two minutes", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}
