package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// A vigil keeps the processors awake: a virtual one that has gone to sleep takes
// longer to wake than a lock takes, and a contender that finds it awake wins. So one
// loop per processor runs at idle priority.
type vigil struct {
	loops  []*exec.Cmd
	exited []chan struct{}
}

// stayAwake begins a vigil. It ends with end, and with this process.
func stayAwake() (*vigil, error) {
	v := new(vigil)
	for range runtime.NumCPU() {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		started, exited := make(chan error), make(chan struct{})
		go supervise(loop, started, exited) // ends with the loop, which end kills and waits for
		if err := <-started; err != nil {
			v.end()
			return nil, err
		}
		v.loops, v.exited = append(v.loops, loop), append(v.exited, exited)
		if err := yieldToAll(loop.Process.Pid); err != nil {
			v.end()
			return nil, err
		}
	}
	return v, nil
}

// yieldToAll gives a process idle priority.
func yieldToAll(pid int) error {
	const idle = 5 // SCHED_IDLE in sched.h
	var priority int32
	_, _, errno := syscall.Syscall(syscall.SYS_SCHED_SETSCHEDULER, uintptr(pid), idle, uintptr(unsafe.Pointer(&priority)))
	if errno != 0 {
		return fmt.Errorf("sched_setscheduler: %w", errno)
	}
	return nil
}

// cpu returns how much the loops have used, in hundredths of a second.
func (v *vigil) cpu() time.Duration {
	if v == nil {
		return 0
	}
	var ticks int64
	for _, loop := range v.loops {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", loop.Process.Pid))
		_, rest, _ := strings.Cut(string(text), ") ") // pid (name) state ppid …
		if fields := strings.Fields(rest); len(fields) > 12 {
			user, _ := strconv.ParseInt(fields[11], 10, 64)
			system, _ := strconv.ParseInt(fields[12], 10, 64)
			ticks += user + system
		}
	}
	return time.Duration(ticks) * tick
}

func (v *vigil) end() {
	if v == nil {
		return
	}
	for i, loop := range v.loops {
		_ = loop.Process.Kill()
		<-v.exited[i]
	}
}
