package redistest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// supervise starts cmd and waits for it. The server dies with the test binary,
// even if that is killed: the kernel sends the signal when the thread that
// started the child ends, which is why this goroutine keeps its thread.
func (s *Server) supervise(cmd *exec.Cmd, exited chan<- struct{}, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	_ = cmd.Wait()
	close(exited)
}
