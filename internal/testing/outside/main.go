// Outside packs the modules of this repository into a module proxy in the file
// system, so that they can be used like published ones:
//
//	go run ./internal/testing/outside DIR
//	GOPROXY=file://DIR,direct GONOSUMDB=github.com/interlock-go go get …@v0.0.0
//
// It packs the files that git does not ignore, committed or not.
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
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "outside:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	root, files, err := repo.Here()
	if err != nil {
		return err
	}
	packed, err := pack(root, files, dir)
	if err != nil {
		return err
	}
	fmt.Printf("outside: %d modules packed into %s\n", len(packed), dir)
	return nil
}
