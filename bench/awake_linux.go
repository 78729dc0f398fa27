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

	"github.com/interlock-go/interlock/internal/testing/child"
)

// idleLoops keep the processors awake with one loop per processor, at idle priority.
// A virtual processor takes longer to wake up than a lock cycle takes, so a contender
// that finds the processor awake would seem faster.
type idleLoops struct {
	loops []*child.Process
}

// startIdleLoops starts the loops. Method end stops them; they also die with this process.
func startIdleLoops() (*idleLoops, error) {
	v := new(idleLoops)
	for range runtime.NumCPU() {
		loop, err := child.Start(exec.Command("sh", "-c", "while :; do :; done"))
		if err != nil {
			v.end()
			return nil, err
		}
		v.loops = append(v.loops, loop)
		if err := yieldToAll(loop.Pid()); err != nil {
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

// cpu returns the CPU time of the loops, with a resolution of 10 ms.
func (v *idleLoops) cpu() time.Duration {
	if v == nil {
		return 0
	}
	var ticks int64
	for _, loop := range v.loops {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", loop.Pid()))
		_, rest, _ := strings.Cut(string(text), ") ") // pid (name) state ppid …
		if fields := strings.Fields(rest); len(fields) > 12 {
			user, _ := strconv.ParseInt(fields[11], 10, 64)
			system, _ := strconv.ParseInt(fields[12], 10, 64)
			ticks += user + system
		}
	}
	return time.Duration(ticks) * tick
}

func (v *idleLoops) end() {
	if v == nil {
		return
	}
	for _, loop := range v.loops {
		loop.Kill()
	}
}
