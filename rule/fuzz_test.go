package rule_test

import (
	"testing"

	"github.com/interlock-go/interlock/rule"
)

// FuzzParse checks that any line either has a mistake with a position inside the line, or
// makes a Rule. The Rule survives printing and parsing, and a guard accepts its policy.
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
				t.Fatalf("%q has %d bytes, but a mistake is reported at %v", line, len(line), e.At)
			}
		}
		if len(errs) > 0 {
			return
		}
		if err := r.Check(); err != nil {
			t.Fatalf("%q was parsed without a mistake, but Check reports %v", line, err)
		}
		again, errs := rule.ParseLine(r.String())
		if errs.Err() != nil || again != r || again.String() != r.String() {
			t.Fatalf("%q: printed and parsed again: got %+v, %v; want %+v", line, again, errs, r)
		}
		loaded, err := rule.Load(string(r.Verb), r.Name, r.Settings())
		r.Key, r.When, r.Ctx, r.Fallback = "", "", "", ""
		if err != nil || loaded != r {
			t.Fatalf("%q: Load returned %+v, %v; want %+v", line, loaded, err, r)
		}
		if r.Verb != rule.Lock {
			p := r.Policy()
			if p.Name == "" {
				p.Name = "x"
			}
			if err := p.Check(); err != nil {
				t.Fatalf("%q is a valid rule, but its policy is not: %v", line, err)
			}
		}
	})
}

// FuzzTemplate checks that any text either has a mistake with a position inside the text,
// or is a template that makes different keys of different parts.
func FuzzTemplate(f *testing.F) {
	f.Add("pay:{path.a}:{path.b}", "1", "2", "1:2", "")
	f.Add("{path.a}x:y{path.b}", "1", "x2", "1x", "2")
	f.Add("{{{path.a}}}:{path.b}", "{", "}", "%7B", "%7D")
	f.Fuzz(func(t *testing.T, text, a, b, c, d string) {
		tmpl, err := rule.ParseTemplate(text, rule.Pos{Line: 1, Col: 1})
		if err != nil {
			if p := err.(*rule.ParseError); p.At.Col < 1 || p.At.Col > len(text)+1 { //nolint:errorlint // ParseTemplate documents this type
				t.Fatalf("%q has %d bytes, but a mistake is reported at %v", text, len(text), p.At)
			}
			return
		}
		first, err1 := tmpl.Key(request{"path.a": a, "path.b": b})
		second, err2 := tmpl.Key(request{"path.a": c, "path.b": d})
		if err1 != nil || err2 != nil || first != second {
			return
		}
		if uses(tmpl, "a") && a != c {
			t.Fatalf("%q: the parts %q and %q have the same key %q", text, a, c, first)
		}
		if uses(tmpl, "b") && b != d {
			t.Fatalf("%q: the parts %q and %q have the same key %q", text, b, d, first)
		}
	})
}

// uses reports whether a template has the path part of this name. Text between double
// braces is not a part.
func uses(tmpl *rule.Template, name string) bool {
	used := false
	_, _ = tmpl.Key(recordingRequest(func(n string) { used = used || n == name }))
	return used
}

// A recordingRequest has a value for every part. It is called with the name of each path
// part that a template reads.
type recordingRequest func(name string)

func (r recordingRequest) Part(place rule.Location, name string) (string, bool) {
	if place == rule.Path {
		r(name)
	}
	return "x", true
}
