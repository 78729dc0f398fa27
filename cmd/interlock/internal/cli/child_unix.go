//go:build linux || darwin

package cli

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"unsafe"
)

// all takes over every signal that is meant for the command, too.
func (s *signals) all() {
	signal.Notify(s.c, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCHLD)
}

// A group is the process group of a command: it and all it starts.
type group struct{ terminal *os.File }

// apart gives the command a group of its own. If there is a terminal to read from,
// that is the group's, or it would be stopped when it reads.
func apart(cmd *exec.Cmd) group {
	g := group{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if interactive(os.Stdin) && foreground(os.Stdin) == syscall.Getpgrp() {
		g.terminal = os.Stdin
		cmd.SysProcAttr.Foreground = true
		cmd.SysProcAttr.Ctty = int(os.Stdin.Fd())
	}
	lastWill(cmd.SysProcAttr)
	return g
}

// pass hands a signal on. That a child has changed its state may mean that Ctrl-Z
// stopped it: it goes on, since nobody else could get the lock while it sleeps,
// and the shell would wait for us in vain.
func (g group) pass(pid int, s os.Signal) {
	if s == syscall.SIGCHLD {
		s = syscall.SIGCONT
	}
	_ = syscall.Kill(-pid, s.(syscall.Signal)) // it may have ended
}

func (g group) terminate(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	_ = syscall.Kill(-pid, syscall.SIGCONT) // a stopped process hears nothing else
}

func (g group) kill(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

func (g group) alive(pid int) bool { return syscall.Kill(-pid, 0) == nil }

// back returns the terminal to us. Who is not in front and says so is stopped by
// SIGTTOU, unless it does not listen.
func (g group) back() {
	if g.terminal == nil {
		return
	}
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	own := int32(syscall.Getpgrp())
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, g.terminal.Fd(), syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&own)))
}

// foreground returns the group that a terminal listens to.
func foreground(f *os.File) int {
	var group int32
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	if failed != 0 {
		return 0
	}
	return int(group)
}

// codeOf returns what a shell would.
func codeOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
