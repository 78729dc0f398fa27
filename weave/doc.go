// Package weave compiles directives: a comment such as
//
//	//interlock:lock name=pay key=req.OrderNo wait=3s
//	func (s *Service) Pay(ctx context.Context, req PayRequest) (Receipt, error) {
//
// becomes a few statements at the start of the function, which call package
// [github.com/interlock-go/interlock/woven]. [File] weaves one file. [Overlay] weaves a
// module and its dependencies and returns a file for go build -overlay. [Toolexec] and
// [CoverShim] wrap the tools of the go command.
//
// Statements are inserted without moving any line, so that compiler errors, panics, stack
// traces, breakpoints and coverage profiles match the source. The compiler reports a
// mistake in a key at its position in the comment.
//
// Each file with directives imports the marker [github.com/interlock-go/interlock/on] for
// its side effect. Weaving removes the marker. A program that was compiled without weaving
// contains it, and refuses to start instead of running without its locks.
//
// Not promised: that a context or an error behind a type alias is recognised (use ctx=
// then), and that the woven text is the same in another version.
package weave
