// Interlock is the command that belongs to the library of the same name.
//
//	interlock demo       watch a hundred goroutines take turns on one lock
//	interlock doctor     say what a Redis set-up promises, and what is wrong with it
//	interlock version    print the version
//	interlock help       explain a command
package main

import (
	"os"

	"github.com/interlock-go/interlock/cmd/interlock/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:]))
}
