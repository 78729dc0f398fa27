//go:build !linux

package cli

import "os/exec"

// supervise starts cmd and waits for it. Without Pdeathsig, no thread has to stay.
func supervise(cmd *exec.Cmd, started, ended chan<- error) {
	err := cmd.Start()
	started <- err
	if err == nil {
		ended <- cmd.Wait()
	}
}
