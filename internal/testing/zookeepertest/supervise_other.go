//go:build !linux

package zookeepertest

import (
	"os/exec"
	"time"
)

// supervise starts cmd and waits for it. Outside Linux nothing ends the server
// if the test binary is killed.
func (s *Server) supervise(cmd *exec.Cmd, exited chan<- struct{}, started chan<- error) {
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	_ = cmd.Wait()
	close(exited)
}

// stopped gives the threads of a process time to stop. Outside Linux it cannot look.
func stopped(int) bool {
	time.Sleep(200 * time.Millisecond)
	return true
}
