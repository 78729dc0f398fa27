//go:build linux || darwin

package cli

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"unsafe"
)

// notifyAll subscribes to the other signals that are forwarded to the command. SIGCHLD is
// among them because pass reacts to a stopped command.
func (s *signals) notifyAll() {
	signal.Notify(s.c, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCHLD)
}

// A group is the process group of a command: the command and its descendants. The file
// terminal is nil unless the group was put into the foreground.
type group struct{ terminal *os.File }

// newGroup runs the command in its own process group. The group becomes the terminal's
// foreground group; otherwise the command would be stopped when it reads.
func newGroup(cmd *exec.Cmd) group {
	g := group{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A background job must not take the terminal from the shell.
	if interactive(os.Stdin) && foreground(os.Stdin) == syscall.Getpgrp() {
		g.terminal = os.Stdin
		cmd.SysProcAttr.Foreground = true
		cmd.SysProcAttr.Ctty = int(os.Stdin.Fd())
	}
	killWithParent(cmd.SysProcAttr)
	return g
}

// pass forwards a signal. SIGCHLD may mean that Ctrl-Z stopped the command; then it is
// continued, because a stopped command would keep its lock.
func (g group) pass(pid int, s os.Signal) {
	if s == syscall.SIGCHLD {
		s = syscall.SIGCONT
	}
	// A negative pid addresses the whole group. By default, SIGCONT has no effect on a
	// running process.
	_ = syscall.Kill(-pid, s.(syscall.Signal)) // the command may have ended
}

// terminate asks the whole group to end.
func (g group) terminate(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	_ = syscall.Kill(-pid, syscall.SIGCONT) // a stopped process handles no other signal
}

// kill ends the whole group; no process can handle SIGKILL.
func (g group) kill(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// alive reports whether a process of the group is left. A zombie counts until it is
// reaped.
func (g group) alive(pid int) bool { return syscall.Kill(-pid, 0) == nil }

// restoreTerminal makes our group the foreground group again. SIGTTOU is ignored, since
// it would stop a background process that does this.
func (g group) restoreTerminal() {
	if g.terminal == nil {
		return
	}
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	ownGroup := int32(syscall.Getpgrp())
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, g.terminal.Fd(), syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&ownGroup)))
}

// foreground returns the terminal's foreground process group.
func foreground(f *os.File) int {
	var group int32 // pid_t has 32 bits on both systems
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	if failed != 0 {
		return 0
	}
	return int(group)
}

// codeOf returns the exit code as a shell does: 128 + the signal's number.
func codeOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
