// Command mutants tests the tests. It plants one bug at a time and checks that a law or a
// test fails.
//
//	go run ./internal/tools/mutants -set client [-list] [-run regexp]
//	go run ./internal/tools/mutants -generated 20 [-pkg guard]
//
// A set contains hand-written bugs, as patches in sets/*.txt. The command fails if a bug
// survives, or if no bug breaks a law. With -generated the command makes the bugs from the
// syntax tree, and only lists the survivors.
//
// Each bug is an overlay for the compiler (go test -overlay). The source tree does not
// change.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	list := flags.Bool("list", false, "list the mutants and run none")
	name := flags.String("set", "memory", "which `set` of mutants to run")
	only := flags.String("run", "", "run only the mutants whose name matches this `regexp`")
	generated := flags.Int("generated", 0, "try `n` generated mutants of each package instead of a set")
	pkg := flags.String("pkg", "", "with -generated, try only mutants of the package in this `directory`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *generated > 0 {
		return tryGenerated(ctx, os.Stdout, *pkg, *generated)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	s, err := find(*name)
	if err != nil {
		return err
	}
	s.mutants = matching(s.mutants, match)
	if *list {
		for _, m := range s.mutants {
			fmt.Printf("%-40s %s: %s\n", m.name, m.file, m.why)
		}
		return nil
	}
	start := time.Now()
	v, err := s.try(ctx)
	if err != nil {
		return err
	}
	v.print(os.Stdout)
	fmt.Printf("mutants: %d of %d killed by %d laws in %v\n",
		v.killed(), len(s.mutants), len(v.laws), time.Since(start).Round(time.Second))
	return v.err(*only == "")
}
