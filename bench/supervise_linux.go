package main

import (
	"os/exec"
	"runtime"
	"syscall"
)

// supervise starts cmd and waits for it. The kernel kills cmd when the thread that started
// it exits, so this goroutine keeps its thread.
func supervise(cmd *exec.Cmd, started chan<- error, exited chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	run(cmd, started, exited)
}
