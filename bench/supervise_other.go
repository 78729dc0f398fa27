//go:build !linux

package main

import "os/exec"

// supervise starts cmd and waits for it. Outside Linux, cmd keeps running if this program
// is killed.
func supervise(cmd *exec.Cmd, started chan<- error, exited chan<- struct{}) {
	run(cmd, started, exited)
}
