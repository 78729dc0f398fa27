//go:build !linux

package mysqltest

import (
	"os/exec"
	"syscall"
)

// supervise starts cmd and waits for it. Outside Linux nothing ends the server if the test
// binary is killed.
func supervise(cmd *exec.Cmd, account *syscall.Credential, exited chan<- struct{}, started chan<- error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account}
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	_ = cmd.Wait()
	close(exited)
}
