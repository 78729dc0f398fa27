package rule_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/rule"
)

// A request maps location.name to a value.
type request map[string]string

func (r request) Part(place rule.Location, name string) (string, bool) {
	value, ok := r[string(place)+"."+name]
	return value, ok
}

func TestTemplates(t *testing.T) {
	r := request{
		"path.id": "42", "header.Idempotency-Key": "a:b%{c}", "query.x": "操作", "cookie.sid": "s1",
		"jwt.sub": "u1", "body.order.no": "n 7", "header.A|B": "k",
	}
	for text, want := range map[string]string{
		"pay:{path.id}":            "pay:42",
		"{header.Idempotency-Key}": "a%3Ab%25%7Bc%7D",
		"q:{query.x}":              "q:操作",
		"{cookie.sid}:{jwt.sub}":   "s1:u1",
		"order:{body.order.no}":    "order:n 7",
		"a-{path.id}-b:{jwt.sub}":  "a-42-b:u1",
		"import":                   "import",
		"pay:{path.id:int}":        "pay:42",
		"{header.A|B}:{path.id}":   "k:42",
		"100%:{{{path.id}}}:x":     "100%25:%7B42%7D:x",
	} {
		tmpl, err := rule.ParseTemplate(text, rule.Pos{Line: 1, Col: 1})
		if err != nil {
			t.Errorf("ParseTemplate(%q): %v", text, err)
			continue
		}
		if got, err := tmpl.Key(r); got != want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
		if tmpl.String() != text || tmpl.Constant() != (text == "import") || tmpl.Uses(rule.Body) != strings.Contains(text, "body") {
			t.Errorf("%s: String() = %q, Constant() = %v, Uses(Body) = %v, want %q, %v, %v", text, tmpl, tmpl.Constant(), tmpl.Uses(rule.Body), text, text == "import", strings.Contains(text, "body"))
		}
	}
}

func TestTypedParts(t *testing.T) {
	const id = "0b6f2a8e-51c5-4d8c-9a0b-2f6c7d8e9f01"
	for typ, cases := range map[string]map[string]string{
		"int":   {"7": "7", "007": "7", "+7": "7", "0": "0", "-0": "0", "-07": "-7", "99999999999999999999999": "99999999999999999999999", "7a": "", "0x7": "", "7.0": "", "-": "", "1_0": "", "٧": ""},
		"uuid":  {id: id, strings.ToUpper(id): id, "{" + id + "}": id, "urn:uuid:" + id: id, strings.ReplaceAll(id, "-", ""): id, id + "0": "", "{" + id: "", "0b6f2a8e51c5-4d8c-9a0b-2f6c7d8e9f01": ""},
		"lower": {"SKU-7": "sku-7", "ÄB": "äb"},
	} {
		tmpl, err := rule.ParseTemplate("{path.id:"+typ+"}", rule.Pos{Line: 1, Col: 1})
		if err != nil {
			t.Fatal(err)
		}
		for value, want := range cases {
			key, err := tmpl.Key(request{"path.id": value})
			if key != want || (want == "") != errors.Is(err, rule.ErrInvalid) {
				t.Errorf("%s as %s: got %q, %v; want %q", value, typ, key, err, want)
			}
			if err != nil && strings.Contains(err.Error(), value) {
				t.Errorf("the error %q contains the value %s, which may be secret", err, value)
			}
		}
	}
}

// Requirement T8: a request that lacks a part gets no key.
func TestAMissingOrEmptyPartIsRefused(t *testing.T) {
	tmpl, err := rule.ParseTemplate("pay:{path.id}:{header.X-Tenant}", rule.Pos{Line: 1, Col: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []request{{}, {"path.id": "1"}, {"path.id": "1", "header.X-Tenant": ""}, {"path.id": "", "header.X-Tenant": "a"}} {
		key, err := tmpl.Key(r)
		var missing *rule.MissingError
		if key != "" || !errors.Is(err, rule.ErrMissing) || !errors.As(err, &missing) {
			t.Errorf("%v: got %q, %v; want an error that matches ErrMissing", r, key, err)
		}
	}
}

func TestMistakesInTemplates(t *testing.T) {
	for text, want := range map[string]string{
		"":                      `3:10: the key is empty: write what identifies the locked object, such as pay:{path.id}`,
		"pay:{path.id":          `3:14: this { is not closed: write {path.id}, or {{ for a literal brace`,
		"pay:path.id}":          `3:21: this } closes nothing: write }} for a literal brace`,
		"pay:{}":                `3:14: {} names no part of the request: write {path.id}, {header.X-Tenant} or {body.order.no}`,
		"pay:{path}":            `3:15: {path} has no name after the location: write {path.name}`,
		"pay:{path.}":           `3:15: {path.} has no name after the location: write {path.name}`,
		"pay:{haeder.x}":        `3:15: unknown location "haeder" (did you mean header?)`,
		"pay:{form.x}":          `3:15: unknown location "form": use path, header, query, cookie, jwt, body`,
		"pay:{path.id:itn}":     `3:23: unknown type "itn" (did you mean int?)`,
		"pay:{path.id:}":        `3:23: unknown type "": use int, uuid, lower`,
		"pay:{path.a|b}":        `3:21: "a|b" cannot name a part of path: use letters, digits, dashes and underscores`,
		"pay:{header.A||B}":     `3:24: "A||B" cannot name a part of header: use letters, digits, dashes and underscores`,
		"pay:{header.X Tenant}": `3:23: "X Tenant" cannot name a part of header: use letters, digits, dashes and underscores`,
		"pay:{body.order..no}":  `3:26: "order..no" cannot name a part of body: use letters, digits, dashes and underscores`,
		"{path.a}{path.b}":      `3:18: put a colon before {path.b}: otherwise different values could make the same key`,
		"{path.a}-{path.b}":     `3:19: put a colon before {path.b}: otherwise different values could make the same key`,
		"pay:":                  `3:13: the key ends in a colon: is a part missing?`,
		":{path.id}":            `3:10: the key begins with a colon: is a part missing?`,
		"pay::{path.id}":        `3:13: there is nothing between two colons: is a part missing?`,
		"pay:\n":                `3:14: the key contains a control character: remove it`,
		"\xff":                  `3:10: the key is not UTF-8: save the file as UTF-8`,
	} {
		_, err := rule.ParseTemplate(text, rule.Pos{Line: 3, Col: 10})
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n\tgot  %v\n\twant %s", text, err, want)
		}
	}
}

func TestPartsAreEscapedLikeInterlockKey(t *testing.T) {
	for _, part := range []string{"a", "a:b", "%3A", "{x}", "操作%"} {
		if got, want := string(rule.AppendEscaped(nil, part)), interlock.Key(part); got != want {
			t.Errorf("%q: got %q, want %q", part, got, want)
		}
	}
}

func TestPartsOfATemplate(t *testing.T) {
	tpl, err := rule.ParseTemplate("pay:{path.id}:x:{body.order.no}", rule.Pos{Line: 1, Col: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := []rule.Part{{Place: rule.Path, Name: "id"}, {Place: rule.Body, Name: "order.no"}}
	if got := tpl.Parts(); !slices.Equal(got, want) {
		t.Errorf("Parts() = %v, want %v", got, want)
	}
}
