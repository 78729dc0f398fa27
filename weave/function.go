package weave

import (
	"cmp"
	"fmt"
	"go/ast"
	"path/filepath"
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
	text.WriteString(w.contexts(dirs, sig))
	var sites []Site
	for i, d := range dirs {
		w.checkSignature(d, sig)
		site := Site{Pos: w.position(d.pos), Verb: d.verb, Func: w.source.Package + "." + sig.name, HasContext: sig.ctx != ""}
		site.Name = cmp.Or(d.rule.Name, site.Func)
		site.Bound = d.shared == "" && w.bindContext(d, sig).reachesBody()
		site.Apart = !d.guards() && d.ctx != nil && d.rule.Kind != rule.Plain && !site.Bound
		later := d.guards() && i < len(dirs)-1
		text.WriteString(w.statements(d, sig, i, w.site(d, site), later))
		sites = append(sites, site)
	}
	text.WriteString(begun(dirs))
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

// statements returns the statements of one directive. The compiler reports an error in an
// expression at the expression, and any other error at the directive. later means that
// the directive is a guard with lower directives, which may refuse.
func (w *weaver) statements(d *directive, sig signature, i int, site string, later bool) string {
	run := "_il" + strconv.Itoa(i)
	h := w.bindContext(d, sig)
	call, outs := "_il.Lock", ""
	after := fmt.Sprintf("defer %s.Unlock();", run)
	if sig.err != "" { // a lost lock is an error, as with Do
		after = fmt.Sprintf("defer %s.Done(%s);", run, sig.errp())
	}
	if d.guards() {
		call, outs = "_il.Once", sig.outs()
		after = fmt.Sprintf("defer %s.Done(%s%s);", run, sig.errp(), outs)
	}
	if later {
		after = run + ".Later();" + after
	}
	got := cmp.Or(h.to, "_")
	switch {
	case h.store != nil:
		got = run + "c"
		after += h.store(got)
	case d.when != nil && h.to != "": // := in the block would declare another variable
		got = run + "c"
		after = h.to + "=" + got + ";" + after
	}
	text := fmt.Sprintf("%s,%s,%sok:=%s(%s,&%s,%s,%s%s);if !%sok{%s};",
		got, run, run, call, h.from, site, w.keyText(d), sig.errp(), outs, run, w.refusal(d, sig, run))
	if d.when == nil {
		return w.line(d.pos) + text + after
	}
	before := ""
	if later { // Begun is called outside of the block
		before = "var " + run + "b *_il.Run;"
		after += run + "b=" + run + ";"
	}
	if w.plain && hasComposite(d.when.node) { // gofmt may remove parentheses that a composite literal needs
		return before + run + "when:=" + d.when.text + ";if " + run + "when{" + text + after + "};"
	}
	return w.line(d.pos) + before + "if " + w.line(d.when.pos) + "(" + w.withPosition(d, d.when) + "){" + text + after + "};"
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

// begun returns the statements that tell each upper guard that no lower directive refused.
func begun(dirs []*directive) string {
	var b strings.Builder
	for i, d := range dirs[:len(dirs)-1] {
		if !d.guards() {
			continue
		}
		run := "_il" + strconv.Itoa(i)
		if d.when != nil {
			run += "b"
		}
		b.WriteString(run + ".Begun();")
	}
	return b.String()
}

// refusal returns the statements of a function that did not get its lock. They call the
// fallback if Busy says so. After other failures the function returns.
func (w *weaver) refusal(d *directive, sig signature, run string) string {
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
	return "if " + run + ".Busy(){" + call + "};return"
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
