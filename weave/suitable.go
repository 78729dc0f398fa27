package weave

import (
	"go/ast"
	"strings"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// suitable reports whether statements can be inserted into a function.
func (w *weaver) suitable(fn *ast.FuncDecl, dirs []*directive) bool {
	first, name := dirs[0], funcName(fn)
	if fn.Body == nil {
		w.errorf(first.pos, "//%s%s on %s: the function has no body in Go; put the directive on a function that calls it", prefix, first.verb, name)
		return false
	}
	if fn.Recv == nil && fn.Name.Name == "init" {
		w.errorf(first.pos, "//%s%s on init: init runs before main sets the default client; put the work into a function that main calls", prefix, first.verb)
		return false
	}
	for _, c := range fn.Doc.List {
		pragma, _, _ := strings.Cut(c.Text, " ")
		if pragma == "//go:nosplit" || pragma == "//go:linkname" {
			w.errorf(first.pos, "//%s%s on %s does not go with %s; put the directive on a function that calls it", prefix, first.verb, name, pragma)
			return false
		}
	}
	return w.distinct(dirs, name)
}

// distinct reports whether all directives of a function have different locks and guards.
// Of two equal ones, the lower would wait for the upper, or repeat it.
func (w *weaver) distinct(dirs []*directive, name string) bool {
	seen := map[string]bool{}
	for _, d := range dirs {
		what := d.verb + " " + d.rule.Name + " " + d.rule.Key
		if seen[what] {
			w.errorf(d.pos, "//%s%s on %s: a directive above has the same name and key: remove one of them", prefix, d.verb, name)
			return false
		}
		seen[what] = true
	}
	return true
}

// checkSignature checks a directive against the signature of its function.
func (w *weaver) checkSignature(d *directive, sig signature) {
	switch d.rule.Verb {
	case rule.Lock:
		w.checkLockSignature(d, sig)
		return
	case rule.Limit:
		if sig.err == "" && (d.rule.OnTimeout == "" || d.rule.OnTimeout == rule.Error) {
			w.errorf(d.pos, "//%slimit on %s: the function has no error result, so choose what happens when no unit is left: on-limit=skip, on-limit=panic or on-limit=call:FUNC", prefix, sig.name)
		}
		return
	}
	if sig.err == "" && d.rule.OnDuplicate != rule.Skip {
		w.errorf(d.pos, "//%s%s on %s: a duplicate gets an error, but the function has no error result: add one, or use on-duplicate=skip", prefix, d.verb, sig.name)
	}
	if d.rule.Policy().WithDefaults().OnDuplicate != guard.Refuse {
		w.checkResults(d, sig)
	}
}

func (w *weaver) checkLockSignature(d *directive, sig signature) {
	if sig.err == "" && (d.rule.OnTimeout == "" || d.rule.OnTimeout == rule.Error) {
		w.errorf(d.pos, "//%slock on %s: the function has no error result, so choose what happens when the lock is not acquired: on-timeout=skip, on-timeout=panic or on-timeout=call:FUNC", prefix, sig.name)
	}
	if (d.rule.Kind == "" || d.rule.Kind == rule.Reentrant) && sig.ctx == "" && d.ctx == nil {
		w.errorf(d.pos, "//%slock on %s: kind=reentrant, the default, needs a context that carries the hold: add a context.Context parameter, or use ctx=EXPR or kind=plain", prefix, sig.name)
	}
}

// checkResults refuses results that cannot be stored.
func (w *weaver) checkResults(d *directive, sig signature) {
	for _, r := range sig.results {
		switch r.typ.(type) {
		case *ast.ChanType, *ast.FuncType:
			w.errorf(r.typ.Pos(), "//%s%s on %s: a channel or a function cannot be stored for duplicates: return data, or use on-duplicate=refuse", prefix, d.verb, sig.name)
		}
	}
}
