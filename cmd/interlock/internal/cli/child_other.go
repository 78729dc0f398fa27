//go:build !linux && !darwin

package cli

import (
	"os"
	"os/exec"
)

// all has no more signals here.
func (s *signals) all() {}

// A group is one process where there are no groups of them.
type group struct{}

func apart(*exec.Cmd) group { return group{} }

// pass has nothing to do: Ctrl-C reaches everybody at the console.
func (g group) pass(int, os.Signal) {}

// terminate can only end the process: there is no way to ask.
func (g group) terminate(pid int) { g.kill(pid) }

func (g group) kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func (g group) alive(int) bool { return false }

func (g group) back() {}

func codeOf(s *os.ProcessState) int { return s.ExitCode() }
