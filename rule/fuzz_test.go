package rule_test

import (
	"testing"

	"github.com/interlock-go/interlock/rule"
)

// FuzzParse: whatever is written, it is a mistake with a place in the line, or a
// rule that prints as one that is the same, and that a guard takes.
func FuzzParse(f *testing.F) {
	for _, m := range mistakes {
		f.Add(m.line)
	}
	for line := range good {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		r, errs := rule.ParseLine(line)
		for _, e := range errs {
			if e.At.Line != 1 || e.At.Col < 1 || e.At.Col > len(line)+1 {
				t.Fatalf("%q has %d bytes, and a mistake at %v", line, len(line), e.At)
			}
		}
		if len(errs) > 0 {
			return
		}
		if err := r.Check(); err != nil {
			t.Fatalf("%q was parsed, and then: %v", line, err)
		}
		again, errs := rule.ParseLine(r.String())
		if errs.Err() != nil || again != r || again.String() != r.String() {
			t.Fatalf("%q: %+v became %+v, %v", line, r, again, errs)
		}
		loaded, err := rule.Load(string(r.Verb), r.Name, r.Settings())
		r.Key, r.When, r.Ctx, r.Fallback = "", "", "", ""
		if err != nil || loaded != r {
			t.Fatalf("%q: %+v was loaded as %+v, %v", line, r, loaded, err)
		}
		if r.Verb != rule.Lock {
			p := r.Policy()
			if p.Name == "" {
				p.Name = "x"
			}
			if err := p.Check(); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
	})
}

// FuzzTemplate: a template is refused in a place of its own, or makes different
// keys of different parts.
func FuzzTemplate(f *testing.F) {
	f.Add("pay:{path.a}:{path.b}", "1", "2", "1:2", "")
	f.Add("{path.a}x:y{path.b}", "1", "x2", "1x", "2")
	f.Add("{{{path.a}}}:{path.b}", "{", "}", "%7B", "%7D")
	f.Fuzz(func(t *testing.T, text, a, b, c, d string) {
		tmpl, err := rule.ParseTemplate(text, rule.Pos{Line: 1, Col: 1})
		if err != nil {
			if p := err.(*rule.ParseError); p.At.Col < 1 || p.At.Col > len(text)+1 { //nolint:errorlint // so it says
				t.Fatalf("%q: a mistake at %v", text, p.At)
			}
			return
		}
		one, err1 := tmpl.Key(request{"path.a": a, "path.b": b})
		two, err2 := tmpl.Key(request{"path.a": c, "path.b": d})
		if err1 != nil || err2 != nil || one != two {
			return
		}
		if uses(tmpl, "a") && a != c {
			t.Fatalf("%q: %q and %q both make %q", text, a, c, one)
		}
		if uses(tmpl, "b") && b != d {
			t.Fatalf("%q: %q and %q both make %q", text, b, d, one)
		}
	})
}

// uses tells whether a part is asked for: what is between double braces is not.
func uses(tmpl *rule.Template, name string) bool {
	asked := false
	_, _ = tmpl.Key(asker(func(n string) { asked = asked || n == name }))
	return asked
}

// An asker has everything, and notes what it was asked for in the path.
type asker func(name string)

func (a asker) Part(place rule.Location, name string) (string, bool) {
	if place == rule.Path {
		a(name)
	}
	return "x", true
}
