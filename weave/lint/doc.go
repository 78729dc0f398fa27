// Package lint finds mistakes in the use of package interlock that compile and
// often work: four analyzers for golang.org/x/tools/go/analysis.
//
//   - [Context]: work under a lock or a guard uses a context from outside, and
//     so goes on when the lock is lost.
//   - [Directive]: a function with a directive does not get the context that holds
//     its lock, and so cannot enter it again.
//   - [Hold]: what was locked or begun is never ended.
//   - [Key]: a key does not say which, or is longer than 64 characters.
//
// They run with
//
//	interlock lint ./...
//	go vet -vettool=$(which interlock) ./...
//
// Not promised: that everything is found. They look at one function at a time,
// and where they cannot tell they are silent: a hold that is returned, stored or
// given to somebody counts as ended, and so does one that is ended on one path
// of several.
package lint

import (
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

// All returns the analyzers.
func All() []*analysis.Analyzer { return []*analysis.Analyzer{Context, Directive, Hold, Key} }

// ByVet reports whether a program with these arguments was called by go vet, as
// its tool: to say its version, to list its flags, or to look at a package.
func ByVet(args []string) bool {
	switch {
	case len(args) == 0:
		return false
	case len(args) == 1 && (args[0] == "-V=full" || args[0] == "-flags"):
		return true
	}
	last := len(args) - 1
	for _, a := range args[:last] {
		if !strings.HasPrefix(a, "-") {
			return false
		}
	}
	return strings.HasSuffix(args[last], ".cfg")
}

// Vet does what go vet asks for, and exits.
func Vet() { unitchecker.Main(All()...) }
