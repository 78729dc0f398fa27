// Command bench measures Interlock beside other lock libraries, on a Redis that
// it starts itself.
//
//	go run . [-short] [-o file]
//
// Contenders take turns of a fraction of a second, several rounds of them, and
// what is compared is the median of the rounds' ratios: the speed of a shared
// machine drifts by more than libraries differ. The program fails if a lock was
// ever granted twice, and never because something was slow.
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

// A plan is what is measured, and for how long.
type plan struct {
	parts string // of uncontended, contended, storm, kinds, guards, http, gateway, quorum and woven
	only  string // parts of contenders' names, with semicolons between
	tries int    // to measure undisturbed
	awake bool   // keep the processors from sleeping

	goroutines []int // that cycle through keys of their own
	slice      time.Duration
	rounds     int
	calls      int // of each script by redis-benchmark, in each round

	clients int // of the gateway

	waiters   []int // for one key
	grants    int
	scrambles int // rounds

	crowd  int // that asks for one key at once
	storms int // rounds
}

var (
	full = plan{
		tries:      5,
		awake:      true,
		goroutines: []int{1, 16, 256}, slice: 300 * time.Millisecond, rounds: 7, calls: 50_000,
		clients: 64,
		waiters: []int{2, 64, 256}, grants: 500, scrambles: 3,
		crowd: 1000, storms: 20,
	}
	short = plan{
		tries:      1,
		goroutines: []int{16}, slice: 30 * time.Millisecond, rounds: 2, calls: 1000,
		clients: 16,
		waiters: []int{8}, grants: 50, scrambles: 1,
		crowd: 200, storms: 2,
	}
)

// bench is the program.
func bench(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var (
		brief  = flags.Bool("short", false, "see in a few seconds whether everything runs")
		file   = flags.String("o", "", "write the tables to a `file`, too")
		parts  = flags.String("parts", "uncontended,contended,storm,kinds,guards,http,gateway,quorum,woven", "the `parts` to measure")
		only   = flags.String("only", "", "measure only contenders whose name contains one of these `parts`, with semicolons between")
		g      = flags.String("g", "", "goroutines, as 1,16,256")
		n      = flags.String("n", "", "waiters for one key, as 2,64,256")
		rounds = flags.Int("rounds", 0, "rounds of the uncontended part")
		slice  = flags.Duration("slice", 0, "how long a turn of the uncontended part takes")
		sleepy = flags.Bool("sleepy", false, "let processors go to sleep when nothing is to be done")
		tries  = flags.Int("tries", 0, "how often at most to measure anew if other programs keep the machine busy")
		cpu    = flags.String("cpuprofile", "", "write a CPU profile to a `file`")
		mem    = flags.String("memprofile", "", "write a profile of allocations to a `file`")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	p := full
	if *brief {
		p = short
	}
	p.parts, p.only = *parts, *only
	if *sleepy {
		p.awake = false
	}
	if *rounds > 0 {
		p.rounds = *rounds
	}
	if *tries > 0 {
		p.tries = *tries
	}
	if *slice > 0 {
		p.slice = *slice
	}
	if err := numbers(&p.goroutines, *g); err != nil {
		return err
	}
	if err := numbers(&p.waiters, *n); err != nil {
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
	return profiled(*cpu, *mem, func() error { return p.run(ctx, out) })
}

// numbers sets list to those in text, if there is any.
func numbers(list *[]int, text string) error {
	if text == "" {
		return nil
	}
	*list = nil
	for item := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(item))
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a list of numbers such as 1,16,256", text)
		}
		*list = append(*list, n)
	}
	return nil
}

// profiled calls fn and writes the profiles that have a name.
func profiled(cpu, mem string, fn func() error) error {
	if mem != "" {
		runtime.MemProfileRate = 512 // bytes: small things are what it is about
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

// run measures everything that is planned and prints it.
func (p plan) run(ctx context.Context, out io.Writer) error {
	s, err := start(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	if p.awake {
		if s.vigil, err = stayAwake(); err != nil {
			return err
		}
	}
	now, err := s.control.Time(ctx).Result()
	if err != nil {
		return err
	}
	calls, err := caught("bench:ceiling:"+randomNumber, now)
	if err != nil {
		return err
	}
	machine(ctx, out, s)

	var b bar
	parts := strings.Split(p.parts, ",")
	if slices.Contains(parts, "uncontended") {
		for _, g := range p.goroutines {
			if err := p.cycling(ctx, out, s, calls, g, &b); err != nil {
				return err
			}
		}
	}
	if slices.Contains(parts, "contended") {
		for _, n := range p.waiters {
			if err := p.scrambling(ctx, out, s, n, &b); err != nil {
				return err
			}
		}
	}
	if slices.Contains(parts, "storm") {
		if err := p.storming(ctx, out, s); err != nil {
			return err
		}
	}
	if slices.Contains(parts, "kinds") {
		for _, g := range p.goroutines {
			if err := p.comparing(ctx, out, s, g, &b); err != nil {
				return err
			}
		}
		for _, n := range p.waiters {
			if err := p.queueing(ctx, out, s, n); err != nil {
				return err
			}
		}
	}
	if slices.Contains(parts, "guards") {
		for _, g := range p.goroutines {
			for _, l := range loads {
				if err := p.guarding(ctx, out, s, l, g, &b); err != nil {
					return err
				}
			}
		}
	}
	if slices.Contains(parts, "http") {
		for _, g := range p.goroutines {
			if err := p.requesting(ctx, out, s, g, &b); err != nil {
				return err
			}
		}
	}
	if slices.Contains(parts, "gateway") {
		if err := p.proxying(ctx, out, s, p.clients, &b); err != nil {
			return err
		}
	}
	if slices.Contains(parts, "quorum") {
		if err := p.agreeing(ctx, out, 1, &b); err != nil {
			return err
		}
	}
	if slices.Contains(parts, "woven") {
		if err := p.weaving(ctx, out, &b); err != nil {
			return err
		}
	}
	b.print(out)
	return nil
}
