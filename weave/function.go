package weave

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/rule"
)

// function puts the statements of its directives at the start of a function, the
// upper directive around the lower one. They are in the function itself and not
// in one around it: its name, recover, runtime.Caller and method sets stay, and
// what is deferred first runs last, so that a lock is let go after the body's own
// deferred commit.
func (w *weaver) function(fn *ast.FuncDecl, dirs []*directive) []Site {
	if !w.suitable(fn, dirs) {
		return nil
	}
	sig := w.signature(fn, dirs)
	var text strings.Builder
	text.WriteString(w.contexts(dirs, sig))
	var sites []Site
	for i, d := range dirs {
		w.fits(d, sig)
		site := Site{Pos: w.position(d.pos), Verb: d.verb, Func: w.source.Package + "." + sig.name}
		site.Name = cmp.Or(d.rule.Name, site.Func)
		site.Apart = !d.guards() && d.ctx != nil && d.rule.Kind != rule.Plain && (d.shared != "" || !w.hand(d, sig).reaches())
		later := d.guards() && i < len(dirs)-1
		text.WriteString(w.statements(d, sig, i, w.site(d, site), later))
		sites = append(sites, site)
	}
	text.WriteString(begun(dirs))
	w.insert(fn.Body.Lbrace+1, text.String())
	return sites
}

// site adds the variable of a site behind the last line and returns its name.
// It is data: it costs nothing when the program starts.
func (w *weaver) site(d *directive, s Site) string {
	name := "_ilS_" + identifier(w.base()) + "_" + strconv.Itoa(w.count)
	w.count++
	pos := filepath.Base(s.Pos.Filename) + ":" + strconv.Itoa(s.Pos.Line)
	fmt.Fprintf(&w.tail, "\n%svar %s = _il.Site{ID:%q,Pos:%q,Name:%q,Verb:%q,Options:%q}\n",
		w.line(d.pos), name, "ilsite/1{"+s.Verb+" "+s.Func+"}", pos, s.Name, s.Verb, d.rule.Settings())
	return name
}

// statements are what one directive does. Errors in them are reported at the
// directive, and those in an expression where it is written. With later, others
// have a say before the function begins.
func (w *weaver) statements(d *directive, sig signature, i int, site string, later bool) string {
	run := "_il" + strconv.Itoa(i)
	h := w.hand(d, sig)
	call, outs := "_il.Lock", ""
	after := fmt.Sprintf("defer %s.Unlock();", run)
	if sig.err != "" { // that the lock was lost is an error, as with Do
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
	case d.when != nil && h.to != "": // := in the block would make another
		got = run + "c"
		after = h.to + "=" + got + ";" + after
	}
	text := fmt.Sprintf("%s,%s,%sok:=%s(%s,&%s,%s,%s%s);if !%sok{%s};",
		got, run, run, call, h.from, site, w.keyText(d), sig.errp(), outs, run, w.leave(d, sig, run))
	if d.when == nil {
		return w.line(d.pos) + text + after
	}
	before := ""
	if later { // what is in the block is not seen behind it
		before = "var " + run + "b *_il.Run;"
		after += run + "b=" + run + ";"
	}
	return w.line(d.pos) + before + "if " + w.line(d.when.pos) + "(" + w.placed(d, d.when) + "){" + text + after + "};"
}

// begun tells those directives that others are below that none of these has
// refused.
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

// leave is what a function does that did not get its lock. Another one is called
// only if the lock is busy: if it cannot be asked for, the error is returned.
func (w *weaver) leave(d *directive, sig signature, run string) string {
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

// keyText is the call that makes the key. That a part has the wrong type is
// reported at the name of the function called, so it is where the key is.
func (w *weaver) keyText(d *directive) string {
	if len(d.key) == 0 {
		return "_il.Key0()"
	}
	var b strings.Builder
	b.WriteString(w.line(d.key[0].pos-token.Pos(len("_il."))) + fmt.Sprintf("_il.Key%d(", len(d.key)))
	for i, k := range d.key {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(w.line(k.pos) + k.text)
	}
	b.WriteString(w.line(d.pos) + ")")
	return b.String()
}

// placed is an expression with its own position; behind it is the directive's.
func (w *weaver) placed(d *directive, e *expr) string {
	return w.line(e.pos) + e.text + w.line(d.pos)
}

// identifier spells a file name so that no two are spelt the same.
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
