package zookeepertest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// supervise starts cmd and waits for it. The server dies with the test binary, even if
// the binary is killed. The kernel kills the server when the thread that started it
// ends, so this goroutine keeps its thread.
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

// stopped reports whether all threads of a process have stopped. The signal reaches them
// one after the other.
func stopped(pid int) bool {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(tasks) == 0 {
		return true // the process has ended
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(task)
		// The state follows the name of the thread, which is in parentheses.
		name := bytes.LastIndexByte(stat, ')')
		if err == nil && (len(stat) < name+3 || stat[name+2] != 'T') {
			return false
		}
	}
	return true
}
