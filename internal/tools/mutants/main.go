// Command mutants shows that the laws have teeth: it plants one bug after
// another, runs the laws, and tells which of them noticed.
//
//	go run ./internal/tools/mutants [-list] [-set memory|records|client|guard|http|quorum|standby|woven|redis] [-run regexp]
//
// It fails if a bug survives, or if there is a law that no bug broke. The bugs
// are patches that only the compiler sees (go test -overlay), so the source has
// no switch for any of them.
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
	name := flags.String("set", "memory", "which `set` of mutants to run: memory, records, client, guard, http, quorum, standby, woven or redis")
	only := flags.String("run", "", "run only the mutants whose name matches this `regexp`")
	generated := flags.Int("generated", 0, "try `n` generated mutants of each package instead of a set")
	pkg := flags.String("pkg", "", "with -generated, only those of the package in this `directory`")
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
