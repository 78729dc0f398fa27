//go:build !linux

package zookeepertest

import "time"

// stopped gives the threads of a process time to stop. Outside Linux it cannot look.
func stopped(int) bool {
	time.Sleep(200 * time.Millisecond)
	return true
}
