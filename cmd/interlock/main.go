// Interlock is the command of the library of the same name.
//
//	interlock demo       watch a hundred goroutines take turns on one lock
//	interlock exec       run a command under a lock
//	interlock lock       list, inspect and force-release locks
//	interlock key        list the records of guards, and resolve unknown outcomes
//	interlock storm      run a load test on a lock or a URL, and check the result
//	interlock switch     switch all processes between a primary and a standby
//	interlock proxy      protect a service in any language, without a file
//	interlock serve      run the gateway that a file describes
//	interlock config     write, validate and print the gateway's file
//	interlock doctor     report what a Redis deployment guarantees, and its problems
//	interlock go         run the go command, with directives woven in
//	interlock overlay    print the path of a new file for go build -overlay
//	interlock lint       check directives, and how locks and guards are used
//	interlock show       print a file as the compiler sees it
//	interlock verify     list the directives woven into a binary
//	interlock eject      replace the directives of a file by code
//	interlock weave      run a Go tool for go build -toolexec
//	interlock completion print the completion script of a shell
//	interlock version    print the version
//	interlock help       explain a command
//
// It also works as a tool of go vet: go vet -vettool=$(which interlock) ./...
package main

import (
	"os"

	"github.com/interlock-go/interlock/cmd/interlock/internal/cli"
	"github.com/interlock-go/interlock/weave/lint"
)

func main() {
	if lint.ByVet(os.Args[1:]) {
		lint.Vet() // exits; the arguments of go vet are no command of ours
	}
	os.Exit(cli.Run(os.Args[1:]))
}
