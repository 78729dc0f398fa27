package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// alive reports whether a process exists and is not a zombie.
func alive(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// pids waits until the command has printed n process ids.
func pids(t *testing.T, r *run, n int) (all []int) {
	t.Helper()
	await(t, "the command has printed its process ids", func() bool { return strings.Count(r.stdout.String(), "\n") >= n })
	for _, field := range strings.Fields(r.stdout.String())[:n] {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// awaitEnd waits until all processes have ended.
func awaitEnd(t *testing.T, all ...int) {
	t.Helper()
	for _, pid := range all {
		await(t, "process "+strconv.Itoa(pid)+" has ended", func() bool { return !alive(t, pid) })
	}
}

// A command never outlives its lock, however exec ends.
func TestExecLeavesNoProcessBehind(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("/proc is not available:", err)
	}
	s := redistest.Start(t)
	env := []string{"INTERLOCK_ENGINE_URL=" + s.URL(), "PATH=" + os.Getenv("PATH")}
	t.Run("killing exec kills the command", func(t *testing.T) {
		t.Parallel()
		r := start(t, env, "exec", "orphan", "--", "sh", "-c", "echo $$; exec sleep 60")
		child := pids(t, r, 1)
		if err := r.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		awaitEnd(t, child...)
		r.wait(t)
	})
	t.Run("a lost lock kills the command and its children", func(t *testing.T) {
		t.Parallel()
		r := start(t, env, "exec", "family", "--grace=200ms", "--", "sh", "-c",
			`trap "" TERM; echo $$; sleep 60 & echo $!; wait; wait; while :; do sleep 1; done`)
		family := pids(t, r, 2)
		start(t, env, "lock", "release", "family", "--reason=test", "--yes").expect(t, 0)
		r.expect(t, 4, "the lock family was lost")
		awaitEnd(t, family...)
	})
	t.Run("the command and its children get SIGTERM first", func(t *testing.T) {
		t.Parallel()
		r := start(t, env, "exec", "rest", "--grace=1m", "--", "sh", "-c",
			`trap "echo asked; exit" TERM; echo $$; sleep 60 & echo $!; wait`)
		family := pids(t, r, 2)
		start(t, env, "lock", "release", "rest", "--reason=test", "--yes").expect(t, 0)
		r.expect(t, 4, "asked")
		awaitEnd(t, family...)
	})
	t.Run("signals reach the command and its children, and exec exits with the command's code", func(t *testing.T) {
		t.Parallel()
		for sig, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130, syscall.SIGHUP: 129, syscall.SIGUSR1: 138} {
			r := start(t, env, "exec", "signal:"+sig.String(), "--", "sh", "-c", `echo $$; sleep 60 >/dev/null 2>&1 & echo $!; wait`)
			family := pids(t, r, 2)
			if err := r.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			r.expect(t, code)
			if sig == syscall.SIGINT { // a shell's background job ignores it
				_ = syscall.Kill(family[1], syscall.SIGTERM)
			}
			awaitEnd(t, family...)
		}
	})
	t.Run("a command may handle a signal and exit later", func(t *testing.T) {
		t.Parallel()
		r := start(t, env, "exec", "drain", "--", "sh", "-c", `trap "echo drained; exit 9" TERM; echo $$; while :; do sleep 0.05; done`)
		pids(t, r, 1)
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		r.expect(t, 9, "drained")
	})
	t.Run("a command that stops itself is continued", func(t *testing.T) {
		t.Parallel()
		r := start(t, env, "exec", "stopped", "--", "sh", "-c", `kill -STOP $$; echo on`)
		r.expect(t, 0, "on")
	})
}
