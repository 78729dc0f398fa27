package config

import (
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// A draft is a rule, or a preset, while it is read.
type draft struct {
	Rule
	n        *node
	verbs    []pair
	options  []rule.Option
	base     string // of a preset: the one it builds on
	token    bool   // the key has {token} in it
	unscoped bool   // nobody said whose keys they are
	told     bool   // something is wrong with its options already
}

// ruleShape is the fields of a rule. It is the order in which they are printed.
func ruleShape() shape[draft] {
	fields := []field[draft]{
		matchField,
		besides(hostField),
		besides(headersField),
		verbField("lock", "One request at a time for each key; the others wait.", "pay:{path.id}"),
		verbField("once", "A request runs once for each key; who sends it again gets the same answer.", "order:{header.Idempotency-Key}"),
		verbField("submit", "A request for each key within a window; repeats are refused.", "form:{body.no}"),
		option("name", "Keeps the keys of rules apart; else what stands before the first colon of the key.", "", textSchema("pay"), func(d *draft) *node { return textNode(d.Do.Name) }),
		presetField(func(d *draft) *string { return &d.Preset }),
	}
	fields = append(fields, policyFields()...)
	return shape[draft]{what: "a rule", hints: ruleHints, fields: append(fields,
		principalField("Who sent the request; else as the file says.", func(d *draft) *Principal { return &d.Principal }),
		line("form", "The key is a token that was issued for this; with {token}, the default is the rule's name.", "order", func(d *draft) *string { return &d.Form }),
		flag("optional", "A request without a key passes unguarded.", func(d *draft) *bool { return &d.Optional }),
		flag("continue", "Rules that follow and match, too, apply inside.", func(d *draft) *bool { return &d.Continue }),
		flag("shadow", "Say what would have been done, and do nothing.", func(d *draft) *bool { return &d.Shadow }),
		flag("tee", "Send the answer while it is captured.", func(d *draft) *bool { return &d.Tee }),
		ruleUpstream,
	)}
}

// ruleHints are about options of directives that a file does not have.
var ruleHints = map[string]string{
	"key":        "the key stands behind lock, once or submit, as in lock: pay:{path.id}",
	"when":       "that is Go, for directives: narrow down match, by header for example",
	"ctx":        "that is Go, for directives: leave it out",
	"on-timeout": "that is for directives: who does not get a lock in time is answered 423",
	"method":     "the method stands in match, as in match: POST /orders",
	"path":       "the path stands in match, as in match: POST /orders",
	"guard":      "write once or submit",
}

// presetShape is the fields of a preset.
func presetShape() shape[draft] {
	return shape[draft]{what: "a preset", hints: ruleHints, fields: append([]field[draft]{presetField(func(d *draft) *string { return &d.base })}, policyFields()...)}
}

// policyFields are the options of package rule, by their one name.
func policyFields() []field[draft] {
	d := durationSchema
	get := func(name string) func(*draft) *node {
		return func(d *draft) *node { return optionNode(&d.Do, name) }
	}
	o := func(name, about, def string, s *jsonschema.Schema) field[draft] {
		return option(name, about, def, s, get(name))
	}
	return []field[draft]{
		o("kind", "The kind of lock.", "reentrant", words("reentrant", "plain", "fair", "read", "write")),
		o("wait", "How long a lock is waited for, 0 for one attempt; or a duplicate waits, with on-duplicate: wait.", "5s, or 3s", either(d(), &jsonschema.Schema{Type: "integer", Minimum: new(0.0), Maximum: new(0.0)})),
		o("lease", "How long a lock or claim survives who has it. A lock with one is not renewed.", "30s", d()),
		o("max-hold", "For how long at most a lock or claim is renewed.", "15m", d()),
		o("after", "What is left when the work was done.", "keep, or window with submit", words("free", "window", "keep")),
		o("window", "How long repeats are refused, from the start.", "5s with submit", d()),
		o("retain", "How long an answer is kept.", "5m, or 24h with on-unknown: hold", d()),
		o("scope", "What makes two requests the same.", "user+key, or key if principal is none", words("key", "user+key", "user+route+key")),
		o("on-duplicate", "What a duplicate gets.", "replay, or refuse with submit", words("refuse", "replay", "wait")),
		o("on-error", "What is left of a request that was answered 4xx.", "free", words("free", "keep")),
		o("on-unknown", "What happens if nobody knows what became of the request.", "rerun", words("rerun", "hold")),
		o("on-down", "What happens if the engine cannot be asked.", "closed, or open with submit", words("closed", "open", "local")),
		o("local-cache", "How long this process answers by itself what it knows.", "500ms", d()),
		o("status", "The status of a refusal.", "409, or 429 with submit", &jsonschema.Schema{Type: "integer", Minimum: new(400.0), Maximum: new(599.0)}),
		messageField,
	}
}

// option is a field that package rule reads.
func option(name, about, def string, s *jsonschema.Schema, show func(*draft) *node) field[draft] {
	return field[draft]{
		name: name, about: about, def: def, show: show,
		read: func(r *reader, d *draft, n *node) {
			if !n.scalar() {
				d.told = true
				r.wrongType(n, name, "be one value", "write "+name+": "+optionExample(s))
				return
			}
			if name == "name" && n.kind != text {
				r.text(n, name, "pay")
				d.told = true
				return
			}
			d.options = append(d.options, rule.Option{
				Name:  rule.Word{Text: name, At: n.at},
				Value: rule.Word{Text: quoted(n.text), At: n.at},
			})
			if n.text == "" {
				d.told = true
				r.say(n.at, Missing, "leave it out for the default", "%s is empty", name)
			}
		},
		schema: func() *jsonschema.Schema { return s.CloneSchemas() },
	}
}

func optionExample(s *jsonschema.Schema) string {
	switch {
	case len(s.AnyOf) > 0:
		return optionExample(s.AnyOf[0])
	case len(s.Enum) > 0:
		return fmt.Sprint(s.Enum[0])
	case len(s.Examples) > 0:
		return fmt.Sprint(s.Examples[0])
	}
	return "409"
}

// quoted keeps a quote that YAML has left from being taken for one of a directive.
func quoted(s string) string {
	if strings.IndexAny(s, "\"`") == 0 {
		return fmt.Sprintf("%q", s)
	}
	return s
}

var messageField = field[draft]{
	name: "message", about: "What a person is told who was refused: a text, or one for each language.",
	read: func(r *reader, d *draft, n *node) {
		if n.kind != mapping {
			if s, ok := r.text(n, "message", "please wait"); ok {
				d.Message = guard.Message{"en": s}
			}
			return
		}
		d.Message = guard.Message{}
		for _, p := range n.pairs {
			if p.name != "en" && p.name != "zh" {
				r.say(p.at, UnknownField, "there are en and zh", "message has no language %s", show(p.name))
			} else if s, ok := r.text(p.value, p.name, "please wait"); ok {
				d.Message[p.name] = s
			}
		}
		if len(n.pairs) == 0 {
			r.say(n.at, Missing, "write message: {en: please wait, zh: 请稍候}", "message is empty")
		}
	},
	show: func(d *draft) *node {
		if len(d.Message) == 0 {
			return nil
		}
		m := &node{kind: mapping}
		for _, l := range sorted(d.Message) {
			m.pairs = append(m.pairs, pair{name: l, value: textNode(d.Message[l])})
		}
		return m
	},
	schema: func() *jsonschema.Schema {
		return either(textSchema("please wait"), &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"en": textSchema(), "zh": textSchema()}, MinProperties: new(1),
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		})
	},
}

var matchField = field[draft]{
	name: "match", about: `Which requests: "POST /orders/{id}", "POST,PUT /x", "/x" for any method, or fields.`, need: true,
	read: func(r *reader, d *draft, n *node) { r.match(&d.Match, n) },
	show: func(d *draft) *node {
		if d.Match.Path == "" {
			return nil
		}
		s := d.Match.Path
		if len(d.Match.Methods) > 0 {
			s = strings.Join(d.Match.Methods, ",") + " " + s
		}
		return textNode(s)
	},
	schema: func() *jsonschema.Schema { return either(textSchema("POST /orders"), matchShape.schemaOf()) },
}

// besides is a field of match that may stand beside it.
func besides(f field[Match]) field[draft] {
	return field[draft]{
		name: f.name, about: f.about,
		read: func(r *reader, d *draft, n *node) {
			if m := d.n.field("match"); m != nil && m.kind == mapping && m.field(f.name) != nil {
				r.say(n.at, Conflict, "keep one", "%s is in match already", f.name)
				return
			}
			f.read(r, &d.Match, n)
		},
		show:   func(d *draft) *node { return f.show(&d.Match) },
		schema: f.schema,
	}
}

func verbField(name, about, example string) field[draft] {
	return field[draft]{
		name: name, about: about,
		read: func(r *reader, d *draft, n *node) { d.verbs = append(d.verbs, pair{name, n.at, n}) },
		show: func(d *draft) *node {
			if string(d.Do.Verb) != name {
				return nil
			}
			return textNode(d.Do.Key)
		},
		schema: func() *jsonschema.Schema { return textSchema(example) },
	}
}

func presetField(of func(*draft) *string) field[draft] {
	return field[draft]{
		name: "preset", about: "A policy by name: click, form, payment, charge, export, short, long, import, or one of the file's own.",
		read: func(r *reader, d *draft, n *node) {
			if s, ok := r.text(n, "preset", "payment"); ok {
				*of(d) = s
			}
		},
		show:   func(*draft) *node { return nil }, // what is printed is what came of it
		schema: func() *jsonschema.Schema { return textSchema("payment") },
	}
}

var ruleUpstream = field[draft]{
	name: "to", about: "Who does the work of this rule; else as the file says.",
	read: func(r *reader, d *draft, n *node) {
		d.Upstream = new(Upstream)
		r.upstream(d.Upstream, n)
	},
	show: func(d *draft) *node {
		if d.Upstream == nil {
			return nil
		}
		return upstreamShape.print(d.Upstream)
	},
	schema: upstreamField(func(d *draft) *Upstream { return d.Upstream }).schema,
}
