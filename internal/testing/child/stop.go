package child

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Stop stops a process and waits until all of its threads have stopped: on a busy machine, one
// may run a moment longer and answer. Only Linux tells; elsewhere Stop does not wait.
func Stop(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for !stopped(pid) {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// stopped reports whether no thread of a process runs.
func stopped(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range files {
		stat, err := os.ReadFile(file) // such as "42 (etcd) S 1 …"
		if err != nil {
			continue // the thread has ended
		}
		_, state, _ := bytes.Cut(stat, []byte(") "))
		if !bytes.HasPrefix(state, []byte("T")) && !bytes.HasPrefix(state, []byte("Z")) && !bytes.HasPrefix(state, []byte("X")) {
			return false
		}
	}
	return true
}
