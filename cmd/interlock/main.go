// Interlock is the command that belongs to the library of the same name.
//
//	interlock demo       watch a hundred goroutines take turns on one lock
//	interlock exec       run a command under a lock
//	interlock lock       look at locks, and take them away
//	interlock key        look at what guards remember, and decide what nobody knows
//	interlock storm      let many contend for a lock or send a request, and judge
//	interlock proxy      protect a service in any language, without a file
//	interlock serve      run the gateway that a file describes
//	interlock doctor     say what a Redis set-up promises, and what is wrong with it
//	interlock go         run the go command, with directives woven in
//	interlock overlay    print a fresh file for go build -overlay
//	interlock lint       check directives, and how locks and guards are used
//	interlock show       print what the compiler sees of a file
//	interlock verify     list what is woven into a program
//	interlock eject      write directives out as code, into the file
//	interlock weave      stand between go and its tools (-toolexec)
//	interlock completion print a script that completes commands in a shell
//	interlock version    print the version
//	interlock help       explain a command
//
// It is a tool for go vet, too: go vet -vettool=$(which interlock) ./...
package main

import (
	"os"

	"github.com/interlock-go/interlock/cmd/interlock/internal/cli"
	"github.com/interlock-go/interlock/weave/lint"
)

func main() {
	if lint.ByVet(os.Args[1:]) {
		lint.Vet()
	}
	os.Exit(cli.Run(os.Args[1:]))
}
