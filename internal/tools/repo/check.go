package repo

import (
	"fmt"
	"os"
)

// A Check looks at the files of the repository in root. It returns what it
// looked at, in a line, and another line for each thing that is wrong.
type Check func(root string, files []string) (summary string, wrong []string, err error)

// Run is the main function of a program that does one check: it prints what
// the check says and exits with 1 if anything is wrong.
func Run(check Check) {
	wrong, err := run(check)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if wrong || err != nil {
		os.Exit(1)
	}
}

func run(check Check) (bool, error) {
	root, files, err := Here()
	if err != nil {
		return false, err
	}
	summary, wrong, err := check(root, files)
	if err != nil {
		return false, err
	}
	for _, line := range wrong {
		fmt.Println(line)
	}
	fmt.Println(summary)
	return len(wrong) > 0, nil
}
