// Package lint has five analyzers for golang.org/x/tools/go/analysis. They find mistakes in
// the use of Interlock that compile and often work.
//
//   - [Context]: work under a lock or a guard uses an outer context, so it continues
//     when the lock is lost.
//   - [Directive]: a function with a directive does not get the context of its hold, so
//     a function it calls cannot lock again.
//   - [Hold]: a hold is never unlocked, or a claim never settled.
//   - [Key]: a key has no identifier, or is longer than 64 characters.
//   - [Result]: a function with a directive returns a result that needs its context, which
//     ends on return.
//
// They run with
//
//	interlock lint ./...
//	go vet -vettool=$(which interlock) ./...
//
// They do not find everything. They check one function at a time and report nothing when
// in doubt: a hold that is returned, stored or passed to a function counts as unlocked, and
// so does a hold that is unlocked on one of several paths.
package lint

import (
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

// All returns the analyzers.
func All() []*analysis.Analyzer { return []*analysis.Analyzer{Context, Directive, Hold, Key, Result} }

// ByVet reports whether go vet called the program with these arguments: to print its
// version, to list its flags, or to check a package.
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

// Vet handles the call of go vet, and exits.
func Vet() { unitchecker.Main(All()...) }
