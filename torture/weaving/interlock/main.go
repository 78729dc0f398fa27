// Interlock replaces the real command in the short form of the tests. It has four of the
// real commands and compiles in a tenth of the time.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/interlock-go/interlock/weave"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: interlock go|weave|cover-shim|verify ARGUMENTS")
		os.Exit(2)
	}
	err := do(os.Args[1], os.Args[2:])
	if e := (*exec.ExitError)(nil); errors.As(err, &e) { // the tool has printed its error
		os.Exit(e.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func do(verb string, args []string) error {
	switch verb {
	case "go":
		return build(args)
	case "weave":
		return weave.Toolexec(args)
	case "cover-shim":
		return weave.CoverShim(args)
	case "verify":
		sites, err := weave.Sites(args[0])
		if err == nil && len(sites) == 0 {
			err = errors.New("nothing is woven into " + args[0])
		}
		fmt.Println(strings.Join(sites, "\n"))
		return err
	}
	return errors.New("no such verb: " + verb)
}

func build(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv, err := weave.Go(context.Background(), ".", self, args)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", argv...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
