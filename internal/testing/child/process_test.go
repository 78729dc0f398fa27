package child_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/testing/child"
)

func TestProcess(t *testing.T) {
	t.Parallel()

	t.Run("the log of an ended process is complete", func(t *testing.T) {
		t.Parallel()
		p := start(t, "sh", "-c", "echo out; echo err >&2")
		<-p.Exited()
		if p.Running() {
			t.Error("an ended process is running")
		}
		if got := p.Log(); got != "out\nerr\n" {
			t.Errorf("the log is %q, want both outputs in their order", got)
		}
	})

	t.Run("Kill waits for the process, and does nothing afterwards", func(t *testing.T) {
		t.Parallel()
		p := start(t, "sleep", "600")
		if !p.Running() {
			t.Fatalf("the process is not running:\n%s", p.Log())
		}
		p.Kill()
		if p.Running() {
			t.Error("a killed process is running")
		}
		p.Kill()
		if err := p.Signal(os.Interrupt); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("a signal to a killed process returns %v, want os.ErrProcessDone", err)
		}
	})

	t.Run("a process that has never run can be killed and asked", func(t *testing.T) {
		t.Parallel()
		p, err := child.Start(exec.Command("/no/such/program"))
		if err == nil {
			t.Fatal("a program that does not exist was started")
		}
		p.Kill()
		if p.Running() || p.Log() != "" || !errors.Is(p.Signal(os.Interrupt), os.ErrProcessDone) {
			t.Error("the process seems to have run")
		}
	})

	t.Run("a program that fails returns its name and its output", func(t *testing.T) {
		t.Parallel()
		dir, err := os.MkdirTemp("", "interlock-child-") //nolint:usetesting // another user must reach it
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		err = child.RunAs("nobody", dir, "/bin/sh", "-c", "echo the reason; exit 1")
		if err == nil || !strings.HasPrefix(err.Error(), "sh: ") || !strings.Contains(err.Error(), "the reason") {
			t.Errorf("error %v, want the program and its output", err)
		}
	})
}

// selfVariable makes TestSelf one of its processes.
const selfVariable = "INTERLOCK_CHILD_SELF"

func TestSelf(t *testing.T) {
	if want := os.Getenv(selfVariable); want != "" {
		if input, err := io.ReadAll(os.Stdin); err != nil || len(input) > 0 || want == "fail" {
			t.Fatalf("the reason: %s, %v", input, err)
		}
		return
	}
	args := []string{"-test.run=^TestSelf$", "-test.count=1"}
	ends, fails := child.Self(t, args, selfVariable+"=end"), child.Self(t, args, selfVariable+"=fail")
	if !ends.Running() || !fails.Running() {
		t.Error("a process ended before its standard input")
	}
	if err := ends.End(); err != nil {
		t.Error(err)
	}
	if err := fails.End(); err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("error %v, want the output of the process", err)
	}
}

func TestServersDoNotRunAsRoot(t *testing.T) {
	t.Parallel()
	p, err := child.StartAs("interlock-no-such-user", exec.Command("id", "-u"))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if got := strings.TrimSpace(p.Log()); got == "0" || got == "" {
		t.Errorf("the server runs as user %q, want another than root", got)
	}
}

func TestFreePortsDiffer(t *testing.T) {
	t.Parallel()
	ports, err := child.FreePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[int]bool)
	for _, port := range ports {
		seen[port] = true
	}
	if len(seen) != 20 {
		t.Errorf("the ports are %v, want 20 different ones", ports)
	}
}

func start(t *testing.T, name string, args ...string) *child.Process {
	t.Helper()
	p, err := child.Start(exec.Command(name, args...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}
