//go:build !linux && !darwin

package cli

import (
	"os"
	"os/exec"
)

// notifyAll has no further signals to subscribe to on this system.
func (s *signals) notifyAll() {}

// A group is a single process on systems without process groups.
type group struct{}

func newGroup(*exec.Cmd) group { return group{} }

// pass does nothing: Ctrl-C reaches every process of the console.
func (g group) pass(int, os.Signal) {}

// terminate kills the process: this system has no SIGTERM.
func (g group) terminate(pid int) { g.kill(pid) }

func (g group) kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func (g group) alive(int) bool { return false }

func (g group) restoreTerminal() {}

func codeOf(s *os.ProcessState) int { return s.ExitCode() }
