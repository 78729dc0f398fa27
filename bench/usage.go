package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is a reading of the counters. The difference of two readings is the cost of a
// measurement.
type usage struct {
	commands map[string]int // calls by command, inside scripts or not
	redis    time.Duration  // CPU of the server
	client   time.Duration  // CPU of this process
	machine  time.Duration  // CPU of all processes, including this one but not the loops that keep the processors awake
	mallocs  uint64
	at       time.Time
}

// readUsage reads the counters. It takes about a millisecond.
func (s *server) readUsage(ctx context.Context) (usage, error) {
	info, err := s.control.Info(ctx, "commandstats", "cpu").Result()
	if err != nil {
		return usage{}, err
	}
	u := usage{commands: make(map[string]int), client: ownCPU(), machine: machineCPU() - s.idleLoops.cpu()}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if command, ok := strings.CutPrefix(name, "cmdstat_"); ok {
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			u.commands[command], _ = strconv.Atoi(calls)
		}
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			seconds, _ := strconv.ParseFloat(value, 64)
			u.redis += time.Duration(seconds * float64(time.Second))
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.mallocs, u.at = m.Mallocs, time.Now()
	return u, nil
}

// A cost is the resources that a measurement used.
type cost struct {
	sent    int // commands that the clients sent
	all     int // all commands, those inside scripts included
	redis   time.Duration
	client  time.Duration
	foreign float64 // cores that other programs used
	mallocs uint64
}

// noise returns how many cores other programs used.
func (c cost) noise() float64 { return c.foreign }

// since returns the cost from before to u. sends names the commands that count as sent.
func (u usage) since(before usage, sends []string) cost {
	c := cost{redis: u.redis - before.redis, client: u.client - before.client, mallocs: u.mallocs - before.mallocs}
	for command, calls := range u.commands {
		if !connectionCommands[command] {
			c.all += calls - before.commands[command]
		}
	}
	for _, command := range sends {
		c.sent += u.commands[command] - before.commands[command]
	}
	if otherLoad := u.machine - before.machine - c.redis - c.client; otherLoad > 0 {
		c.foreign = otherLoad.Seconds() / u.at.Sub(before.at).Seconds()
	}
	return c
}

// connectionCommands set up and check connections, load scripts, and read or reset the
// server. cost.all does not count them.
var connectionCommands = map[string]bool{
	"info": true, "ping": true, "hello": true, "client|setinfo": true, "client|tracking": true, "client|setname": true,
	"client|no-evict": true, "client|no-touch": true, "client|maint_notifications": true, "config|get": true,
	"script|load": true, "flushall": true, "command": true, "cluster|shards": true, "role": true,
}

func ownCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// tick is the unit in which the kernel counts CPU.
const tick = 10 * time.Millisecond

// machineCPU returns the busy time of all processors together.
func machineCPU() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line := bufio.NewScanner(bytes.NewReader(text))
	line.Scan()
	fields := strings.Fields(line.Text()) // cpu user nice system idle iowait irq softirq steal
	var ticks int64
	for i, field := range fields {
		if i == 0 || i == 4 || i == 5 || i > 8 {
			continue
		}
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * tick
}
