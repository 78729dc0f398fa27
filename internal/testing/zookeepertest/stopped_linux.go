package zookeepertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

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
