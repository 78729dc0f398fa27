package mysqltest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// supervise starts cmd and waits for it. The server dies with the test binary, even if the
// binary is killed. The kernel kills the server when the thread that started it ends, so
// this goroutine keeps its thread.
func supervise(cmd *exec.Cmd, account *syscall.Credential, exited chan<- struct{}, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: account}
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	_ = cmd.Wait()
	close(exited)
}
