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

// newGroup changes nothing: the command shares the console of exec.
func newGroup(*exec.Cmd) group { return group{} }

// pass does nothing: Ctrl-C reaches every process of the console.
func (g group) pass(int, os.Signal) {}

// terminate kills the process: this system has no SIGTERM.
func (g group) terminate(pid int) { g.kill(pid) }

// kill ends the command only; its descendants keep running.
func (g group) kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// alive reports false: descendants cannot be tracked, and run waits for the command.
func (g group) alive(int) bool { return false }

// restoreTerminal has nothing to restore: newGroup took no terminal.
func (g group) restoreTerminal() {}

// codeOf returns the exit code. This system has no separate codes for signals.
func codeOf(s *os.ProcessState) int { return s.ExitCode() }
