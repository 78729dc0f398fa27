// Outside packs the modules of this repository into a file-system module
// proxy, so that they can be used as users will before they are published:
//
//	go run ./internal/testing/outside DIR
//	GOPROXY=file://DIR,direct GONOSUMDB=github.com/interlock-go go get …@v0.0.0
//
// What is packed is what git would keep, committed or not.
package main

import (
	"fmt"
	"os"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: outside DIR")
		os.Exit(2)
	}
	repo.Run(func(root string, files []string) (string, []string, error) {
		packed, err := pack(root, files, os.Args[1])
		return fmt.Sprintf("outside: %d modules packed into %s", len(packed), os.Args[1]), nil, err
	})
}
