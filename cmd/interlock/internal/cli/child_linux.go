package cli

import (
	"os/exec"
	"runtime"
	"syscall"
)

// lastWill has the kernel end the command should we be killed: nobody would renew
// its lock.
func lastWill(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// supervise starts cmd and waits for it. The kernel executes the last will when the
// thread ends that started the child, which is why this goroutine keeps its own.
func supervise(cmd *exec.Cmd, started, ended chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	started <- err
	if err == nil {
		ended <- cmd.Wait()
	}
}
