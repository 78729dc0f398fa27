package weave

import (
	"cmp"
	"fmt"
	"go/ast"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/rule"
)

// function inserts the statements of a function's directives at its start. An upper
// directive encloses a lower one. There is no wrapper function, so the function's name,
// recover, runtime.Caller and method sets do not change. The first deferred call runs last,
// so a lock is released after a commit that the body defers.
func (w *weaver) function(fn *ast.FuncDecl, dirs []*directive) []Site {
	if !w.suitable(fn, dirs) {
		return nil
	}
	sig := w.signature(fn, dirs)
	var text strings.Builder
	guarded := slices.ContainsFunc(dirs, (*directive).guards)
	text.WriteString(w.call(dirs[0], sig, guarded) + w.contexts(dirs, sig))
	var sites []Site
	for i, d := range dirs {
		w.checkSignature(d, sig)
		site := Site{Pos: w.position(d.pos), Verb: d.verb, Func: w.source.Package + "." + sig.name, HasContext: sig.ctx != ""}
		site.Name = cmp.Or(d.rule.Name, site.Func)
		site.Bound = d.rule.Verb != rule.Limit && d.shared == "" && w.bindContext(d, sig).reachesBody()
		site.Apart = d.rule.Verb == rule.Lock && d.ctx != nil && d.rule.Kind != rule.Plain && !site.Bound
		text.WriteString(w.statements(d, sig, i, w.site(d, site), guarded))
		sites = append(sites, site)
	}
	if guarded {
		text.WriteString("_ilcall.Later=false;")
	}
	w.insert(fn.Body.Lbrace+1, text.String())
	return sites
}

// site adds the variable of a site after the last line and returns its name. The variable
// is static data, so it costs nothing at startup.
func (w *weaver) site(d *directive, s Site) string {
	name := "_ilS_" + identifier(w.base()) + "_" + strconv.Itoa(w.count)
	w.count++
	pos := filepath.Base(s.Pos.Filename) + ":" + strconv.Itoa(s.Pos.Line)
	fmt.Fprintf(&w.tail, "\n%svar %s = _il.Site{ID:%q,Pos:%q,Name:%q,Verb:%q,Options:%q}\n",
		w.line(d.pos), name, "ilsite/1{"+s.Verb+" "+s.Func+"}", pos, s.Name, s.Verb, d.rule.Settings())
	return name
}

// call returns the statements that declare the call and defer its end. All directives
// share them, because a deferred call costs the compiler as much time as a small function.
func (w *weaver) call(first *directive, sig signature, guarded bool) string {
	if guarded {
		return w.line(first.pos) + "_ilcall:=_il.Guarded(" + sig.errp() + sig.outs() + ");defer _ilcall.Done();"
	}
	return w.line(first.pos) + "var _ilcall _il.Call;defer _ilcall.Done(" + sig.errp() + ");"
}

// statements returns the statements of one directive. The compiler reports an error in an
// expression at the expression, and any other error at the directive. guarded means that the
// function has a guard, so that the call knows the results.
func (w *weaver) statements(d *directive, sig signature, i int, site string, guarded bool) string {
	h := w.bindContext(d, sig)
	got, after := "", ""
	switch {
	case h.store != nil:
		inner := "_ilc" + strconv.Itoa(i)
		got, after = inner+":=", h.store(inner)
	case h.to != "":
		got = h.to + "="
	}
	args := []string{h.from, "&" + site, w.keyText(d)}
	if !guarded {
		args = append(args, sig.errp())
	}
	text := fmt.Sprintf("%s_ilcall.%s(%s);if _ilcall.Refused{%s};%s", got, d.method(), strings.Join(args, ","), w.refusal(d, sig), after)
	if d.when == nil {
		return w.line(d.pos) + text
	}
	if w.plain && hasComposite(d.when.node) { // gofmt may remove parentheses that a composite literal needs
		when := "_ilwhen" + strconv.Itoa(i)
		return when + ":=" + d.when.text + ";if " + when + "{" + text + "};"
	}
	return w.line(d.pos) + "if " + w.line(d.when.pos) + "(" + w.withPosition(d, d.when) + "){" + text + "};"
}

// hasComposite reports whether an expression has a composite literal.
func hasComposite(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, ok := n.(*ast.CompositeLit)
		found = found || ok
		return !found
	})
	return found
}

// refusal returns the statements of a function that did not get its lock or unit. They call the
// fallback if Busy says so. After other failures the function returns.
func (w *weaver) refusal(d *directive, sig signature) string {
	if d.call == nil {
		return "return"
	}
	fn := w.line(d.call.pos) + d.call.text
	switch d.call.node.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr, *ast.ParenExpr:
	default:
		fn = "(" + fn + ")"
	}
	call := fn + w.line(d.call.pos) + "(" + sig.args() + ")" + w.line(d.pos)
	if len(sig.results) > 0 {
		call = "return " + call
	}
	return "if _ilcall.Busy{" + call + "};return"
}

// keyText returns the call that makes the key. The compiler reports a wrong type at the
// parenthesis of the call, so the parenthesis gets the position of the key.
func (w *weaver) keyText(d *directive) string {
	if len(d.key) == 0 {
		return "_il.Key0()"
	}
	var b strings.Builder
	b.WriteString(fmt.Sprintf("_il.Key%d", len(d.key)) + w.line(d.key[0].pos) + "(")
	for i, k := range d.key {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(w.line(k.pos) + k.text)
	}
	b.WriteString(w.line(d.pos) + ")")
	return b.String()
}

// withPosition returns an expression between two line directives: its own position before it,
// and that of the directive after it.
func (w *weaver) withPosition(d *directive, e *expr) string {
	return w.line(e.pos) + e.text + w.line(d.pos)
}

// identifier encodes a file name as a unique identifier.
func identifier(name string) string {
	var b strings.Builder
	stem, isGo := strings.CutSuffix(name, ".go")
	for i := range len(stem) {
		switch c := stem[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			b.WriteByte(c)
		case c == '_':
			b.WriteString("__")
		default:
			fmt.Fprintf(&b, "_x%02x_", c)
		}
	}
	if isGo {
		b.WriteString("_go")
	}
	return b.String()
}
