// Package weave makes directives work: a comment such as
//
//	//interlock:lock name=pay key=req.OrderNo wait=3s
//	func (s *Service) Pay(ctx context.Context, req PayRequest) (Receipt, error) {
//
// becomes a few statements at the start of the function, which call package
// [github.com/interlock-go/interlock/woven]. [File] weaves one file; [Overlay]
// weaves a module with everything it is built from and returns what to give to
// go build -overlay; [Toolexec] and [CoverShim] do it between go and its tools.
//
// Text is spliced into the line where it belongs and no line moves, so that
// compiler errors, panics, stack traces, breakpoints and coverage profiles are
// those of the source. A mistake in a key is reported by the compiler, at the
// place of the key in the comment.
//
// Each file with directives imports the marker
// [github.com/interlock-go/interlock/on] for nothing but its side effect. Weaving
// takes it out. Whatever is compiled without weaving keeps it, and the program
// refuses to start instead of running without its locks.
//
// Not promised: that a context or an error is recognised behind an alias (say
// ctx= then), and that the woven text stays the same from version to version.
package weave
