package cli

import (
	"os/exec"
	"runtime"
	"syscall"
)

// killWithParent makes the kernel kill the command if exec is killed, because its lock
// would not be renewed any more.
func killWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// supervise starts cmd and waits for it. Pdeathsig fires when the starting thread ends,
// so this goroutine stays on its thread until the command has ended.
func supervise(cmd *exec.Cmd, started, ended chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	started <- err
	if err == nil {
		ended <- cmd.Wait()
	}
}
