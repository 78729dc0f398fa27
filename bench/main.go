// Command bench compares Interlock with other lock libraries, on a Redis server that it
// starts itself; and its other engines with what people use there, on servers of theirs.
//
//	go run . [-short] [-o file]
//
// The speed of a shared machine varies more than the libraries differ. So each round
// measures every contender for a fraction of a second, and the result is the median
// of the rounds' ratios. The program fails if a lock has two holders, and never
// because a contender is slow.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, os.Args[1:], os.Stdout); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A plan says what to measure, and for how long.
type plan struct {
	parts     string // comma-separated; see the flag -parts
	only      string // substrings of contenders' names, separated by semicolons
	maxTries  int    // how often a measurement is repeated while other programs use the machine
	keepAwake bool   // run idle loops, so that the processors do not sleep

	goroutines []int         // numbers of goroutines in the uncontended part, each with its own keys
	slice      time.Duration // how long one contender runs in one round
	rounds     int
	calls      int // how often redis-benchmark runs each script per round

	clients int // number of clients of the gateway

	waiters         []int // goroutines that wait for one key
	grants          int   // per contended round
	contendedRounds int

	callers     int // goroutines that try one key at the same time
	stormRounds int

	synced      bool // the servers of the part "engines" sync to disk
	counted     int  // cycles per goroutine whose requests are counted
	passes      int  // hand-overs of a lock, per round
	relayRounds int  // rounds of hand-overs

	// A holder keeps a lock that is handed over for so long. etcd tells a new watcher of changes
	// after at most 100 ms.
	relayHold time.Duration
}

var (
	full = plan{
		maxTries:   5,
		keepAwake:  true,
		goroutines: []int{1, 16, 256}, slice: 300 * time.Millisecond, rounds: 7, calls: 50_000,
		clients: 64,
		waiters: []int{2, 64, 256}, grants: 500, contendedRounds: 3,
		callers: 1000, stormRounds: 20,
		counted: 50, passes: 10, relayRounds: 5, relayHold: 150 * time.Millisecond,
	}
	short = plan{
		maxTries:   1,
		goroutines: []int{16}, slice: 30 * time.Millisecond, rounds: 2, calls: 1000,
		clients: 16,
		waiters: []int{8}, grants: 50, contendedRounds: 1,
		callers: 200, stormRounds: 2,
		counted: 5, passes: 3, relayRounds: 1, relayHold: 20 * time.Millisecond,
	}
)

// bench is the program.
func bench(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var (
		brief  = flags.Bool("short", false, "measure for a few seconds only, to check that everything runs")
		file   = flags.String("o", "", "also write the tables to a `file`")
		parts  = flags.String("parts", "uncontended,contended,storm,kinds,guards,http,adapters,gateway,quorum,woven,observe,engines", "the `parts` to measure")
		only   = flags.String("only", "", "measure only contenders whose name contains one of these `substrings`, separated by semicolons")
		g      = flags.String("g", "", "numbers of goroutines, such as 1,16,256")
		n      = flags.String("n", "", "numbers of waiters for one key, such as 2,64,256")
		rounds = flags.Int("rounds", 0, "rounds of the uncontended part")
		slice  = flags.Duration("slice", 0, "how long one contender runs in one round of the uncontended part")
		synced = flags.Bool("synced", true, "in the part 'engines', let the servers sync to disk")
		sleepy = flags.Bool("sleepy", false, "let idle processors sleep")
		tries  = flags.Int("tries", 0, "repeat a measurement at most this often while other programs use the machine")
		cpu    = flags.String("cpuprofile", "", "write a CPU profile to a `file`")
		mem    = flags.String("memprofile", "", "write an allocation profile to a `file`")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	p := full
	if *brief {
		p = short
	}
	p.parts, p.only, p.synced = *parts, *only, *synced
	if *sleepy {
		p.keepAwake = false
	}
	if *rounds > 0 {
		p.rounds = *rounds
	}
	if *tries > 0 {
		p.maxTries = *tries
	}
	if *slice > 0 {
		p.slice = *slice
	}
	if err := parseNumbers(&p.goroutines, *g); err != nil {
		return err
	}
	if err := parseNumbers(&p.waiters, *n); err != nil {
		return err
	}
	if *file != "" {
		f, err := os.Create(*file)
		if err != nil {
			return err
		}
		defer f.Close()
		out = io.MultiWriter(out, f)
	}
	return withProfiles(*cpu, *mem, func() error { return p.run(ctx, out) })
}

// parseNumbers sets list to the numbers in text, unless text is empty.
func parseNumbers(list *[]int, text string) error {
	if text == "" {
		return nil
	}
	*list = nil
	for item := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(item))
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a list of positive numbers; use a list such as 1,16,256", text)
		}
		*list = append(*list, n)
	}
	return nil
}

// withProfiles calls fn and writes the profiles whose file names are set.
func withProfiles(cpu, mem string, fn func() error) error {
	if mem != "" {
		runtime.MemProfileRate = 512 // bytes, because most allocations are small
	}
	if cpu != "" {
		f, err := os.Create(cpu)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if err := fn(); err != nil || mem == "" {
		return err
	}
	f, err := os.Create(mem)
	if err != nil {
		return err
	}
	defer f.Close()
	return pprof.Lookup("allocs").WriteTo(f, 0)
}

// run measures the parts of the plan and prints their tables.
func (p plan) run(ctx context.Context, out io.Writer) error {
	s, err := start(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	if p.keepAwake {
		if s.idleLoops, err = startIdleLoops(); err != nil {
			return err
		}
	}
	now, err := s.control.Time(ctx).Result()
	if err != nil {
		return err
	}
	calls, err := captureScripts("bench:ceiling:"+randPlaceholder, now)
	if err != nil {
		return err
	}
	printMachine(ctx, out, s)

	var b targets
	parts := strings.Split(p.parts, ",")
	if slices.Contains(parts, "uncontended") {
		for _, g := range p.goroutines {
			if err := p.measureUncontended(ctx, out, s, calls, g, &b); err != nil {
				return err
			}
		}
	}
	if slices.Contains(parts, "contended") {
		for _, n := range p.waiters {
			if err := p.measureContended(ctx, out, s, n, &b); err != nil {
				return err
			}
		}
	}
	if slices.Contains(parts, "storm") {
		if err := p.measureStorm(ctx, out, s); err != nil {
			return err
		}
	}
	if slices.Contains(parts, "kinds") {
		for _, g := range p.goroutines {
			if err := p.measureKinds(ctx, out, s, g, &b); err != nil {
				return err
			}
		}
		for _, n := range p.waiters {
			if err := p.measureQueues(ctx, out, s, n); err != nil {
				return err
			}
		}
	}
	if slices.Contains(parts, "guards") {
		for _, g := range p.goroutines {
			for _, l := range loads {
				if err := p.measureGuards(ctx, out, s, l, g, &b); err != nil {
					return err
				}
			}
		}
	}
	if slices.Contains(parts, "http") {
		for _, g := range p.goroutines {
			if err := p.measureHTTP(ctx, out, s, g, &b); err != nil {
				return err
			}
		}
	}
	if slices.Contains(parts, "adapters") {
		if err := p.measureAdapters(ctx, out, s); err != nil {
			return err
		}
	}
	if slices.Contains(parts, "gateway") {
		if err := p.measureGateway(ctx, out, s, p.clients, &b); err != nil {
			return err
		}
	}
	if slices.Contains(parts, "quorum") {
		if err := p.measureQuorum(ctx, out, 1, &b); err != nil {
			return err
		}
	}
	if slices.Contains(parts, "woven") {
		if err := p.measureWoven(ctx, out, &b); err != nil {
			return err
		}
	}
	if slices.Contains(parts, "observe") {
		if err := p.measureObserved(ctx, out, s, &b); err != nil {
			return err
		}
	}
	if slices.Contains(parts, "engines") {
		if err := p.measureEngines(ctx, out, s); err != nil {
			return err
		}
	}
	b.print(out)
	return nil
}
