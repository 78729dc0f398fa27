package config

import (
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// A ruleDraft is a rule or a preset while it is being read. Options are collected as text,
// because package rule parses them together with those of the preset.
type ruleDraft struct {
	Rule
	node       *node
	verbs      []pair
	options    []rule.Option
	basePreset string // for a preset: the name of the preset that it builds on
	hasToken   bool   // the key contains {token}
	unscoped   bool   // the rule has no principal, but its default scope needs one
	invalid    bool   // a mistake in its options is already reported
}

// ruleShape has the fields of a rule, in the order in which they are printed.
func ruleShape() shape[ruleDraft] {
	fields := []field[ruleDraft]{
		matchField,
		besideMatch(alsoField),
		besideMatch(hostField),
		besideMatch(headersField),
		verbField("lock", "Requests with one key run one at a time; the others wait.", "pay:{path.id}"),
		verbField("once", "A request runs once per key; a repeat gets the same response.", "order:{header.Idempotency-Key}"),
		verbField("submit", "One request per key within a window; repeats are refused.", "form:{body.no}"),
		verbField("limit", "So many requests per key and window, as rate says; others are refused.", "orders:{jwt.sub}"),
		option("name", "Name of the rule, which separates its keys from those of others; without it, the text before the first colon of the key.", "", textSchema("pay"), func(d *ruleDraft) *node { return textNode(d.Do.Name) }),
		limitOption("rate", "How many requests a limit allows per hour, day, week or month, or within a duration.", "", "3/day"),
		limitOption("zone", "The time zone in which the hours, days, weeks and months of a rate begin.", "UTC", "Asia/Shanghai"),
		presetField(func(d *ruleDraft) *string { return &d.Preset }),
	}
	fields = append(fields, policyFields()...)
	return shape[ruleDraft]{name: "a rule", hints: ruleHints, fields: append(fields,
		principalField("How to authenticate the sender; without it, as in the file.", func(d *ruleDraft) *Principal { return &d.Principal }),
		stringField("form", "The form whose tokens are the keys; with {token}, the default is the rule's name.", "order", func(d *ruleDraft) *string { return &d.Form }),
		fingerprintField,
		boolField("optional", "A request without a key passes unguarded.", func(d *ruleDraft) *bool { return &d.Optional }),
		boolField("continue", "Later rules that match apply as well, inside this one.", func(d *ruleDraft) *bool { return &d.Continue }),
		boolField("shadow", "Log what the rule would have done, and do nothing.", func(d *ruleDraft) *bool { return &d.Shadow }),
		boolField("tee", "Send the response while it is being stored.", func(d *ruleDraft) *bool { return &d.Tee }),
		notExecutedField,
		keepRedirectsField,
		ruleUpstream,
	)}
}

// ruleHints are hints for options of directives that a file does not have.
var ruleHints = map[string]string{
	"key":        "write the key behind lock, once, submit or limit, as in lock: pay:{path.id}",
	"when":       "when is only for directives in Go; add conditions to the field match instead, for example a header",
	"ctx":        "ctx is only for directives in Go; remove it",
	"on-timeout": "on-timeout is only for directives in Go; the gateway answers 423 to a request that does not get its lock in time",
	"on-limit":   "on-limit is only for directives in Go; the gateway answers 429 to a request beyond its limit",
	"method":     "write the method in match, as in match: POST /orders",
	"path":       "write the path in match, as in match: POST /orders",
	"guard":      "write once or submit",
}

// presetShape has the fields of a preset.
func presetShape() shape[ruleDraft] {
	return shape[ruleDraft]{name: "a preset", hints: ruleHints, fields: append([]field[ruleDraft]{presetField(func(d *ruleDraft) *string { return &d.basePreset })}, policyFields()...)}
}

// policyFields are the options of package rule, with the same names as in directives.
func policyFields() []field[ruleDraft] {
	d := durationSchema
	get := func(name string) func(*ruleDraft) *node {
		return func(d *ruleDraft) *node { return optionNode(&d.Do, name) }
	}
	o := func(name, about, def string, s *jsonschema.Schema) field[ruleDraft] {
		return option(name, about, def, s, get(name))
	}
	return []field[ruleDraft]{
		o("kind", "The kind of lock.", "reentrant", enumSchema("reentrant", "plain", "fair", "read", "write")),
		o("wait", "How long a request waits for its lock or for a unit of its limit, 0 for one attempt; with on-duplicate: wait, how long a duplicate waits.", "5s for a lock, 0 for a limit, 3s for a duplicate", anyOf(d(), &jsonschema.Schema{Type: "integer", Minimum: new(0.0), Maximum: new(0.0)})),
		o("lease", "How long a lock or claim survives its holder. If a rule sets lease, its locks are not renewed; otherwise they are.", "30s", d()),
		o("max-hold", "The longest time that a lock or claim is renewed.", "no limit for a lock, 15m for a claim", d()),
		o("after", "The record that remains after success.", "keep, or window with submit", enumSchema("free", "window", "keep")),
		o("window", "How long repeats are refused, from the start of the request.", "5s with submit", d()),
		o("retain", "How long a response or an unknown outcome is stored.", "24h", d()),
		o("scope", "The parts that are equal in duplicates.", "user+key, or key with principal: none", enumSchema("key", "user+key", "user+route+key")),
		o("on-duplicate", "The response to a duplicate.", "replay, or refuse with submit", enumSchema("refuse", "replay", "wait")),
		o("on-error", "The record that remains after a 4xx response; for a limit, whether a response of 400 or more counts.", "free, or keep with limit", enumSchema("free", "keep")),
		o("on-unknown", "The action if the outcome of the request is unknown.", "hold, or rerun with submit", enumSchema("rerun", "hold")),
		o("on-down", "The action if the engine does not answer.", "closed, or open with submit", enumSchema("closed", "open", "local")),
		o("local-cache", "How long this process answers duplicates from its own memory.", "500ms", d()),
		o("status", "The status of a refusal.", "409, or 429 with submit", &jsonschema.Schema{Type: "integer", Minimum: new(400.0), Maximum: new(599.0)}),
		messageField,
	}
}

// limitOption is an option of a limit. Presets, which are for guards, do not have it.
func limitOption(name, about, def, example string) field[ruleDraft] {
	return option(name, about, def, textSchema(example), func(d *ruleDraft) *node { return optionNode(&d.Do, name) })
}

// option is a field that package rule parses later, in applyOptions.
func option(name, about, def string, s *jsonschema.Schema, show func(*ruleDraft) *node) field[ruleDraft] {
	return field[ruleDraft]{
		name: name, description: about, defaultText: def, print: show,
		read: func(r *reader, d *ruleDraft, n *node) {
			if !n.scalar() {
				d.invalid = true
				r.wrongType(n, name, "be one value", "write "+name+": "+schemaExample(s, "409"))
				return
			}
			// A name is text. Other YAML libraries may read 007 or true differently.
			if name == "name" && n.kind != text {
				r.text(n, name, "pay")
				d.invalid = true
				return
			}
			// Numbers and booleans are kept as written, because package rule parses text.
			d.options = append(d.options, rule.Option{
				Name:  rule.Word{Text: name, At: n.at},
				Value: rule.Word{Text: quoteOption(n.text), At: n.at},
			})
			if n.text == "" {
				d.invalid = true
				r.errorf(n.at, Missing, "leave it out for the default", "%s is empty", name)
			}
		},
		schema: func() *jsonschema.Schema { return s.CloneSchemas() },
	}
}

// quoteOption quotes a text that begins with a quote, which package rule would otherwise
// take for the quote of a directive.
func quoteOption(s string) string {
	if strings.IndexAny(s, "\"`") == 0 {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// messageField is a text in English, or a mapping by language.
var messageField = field[ruleDraft]{
	name: "message", description: "The message of a refusal: a text, or one per language.",
	read: func(r *reader, d *ruleDraft, n *node) {
		if n.kind != mapping {
			if s, ok := r.text(n, "message", "please wait"); ok {
				d.Message = guard.Message{"en": s}
			}
			return
		}
		d.Message = guard.Message{}
		for _, p := range n.pairs {
			// Package interlockhttp chooses between these two by Accept-Language.
			if p.name != "en" && p.name != "zh" {
				r.errorf(p.at, UnknownField, "use en and zh", "message: the language %s is not supported", quote(p.name))
			} else if s, ok := r.text(p.value, p.name, "please wait"); ok {
				d.Message[p.name] = s
			}
		}
		if len(n.pairs) == 0 {
			r.errorf(n.at, Missing, "write message: {en: please wait, zh: 请稍候}", "message is empty")
		}
	},
	print: func(d *ruleDraft) *node {
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
		return anyOf(textSchema("please wait"), &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"en": textSchema(), "zh": textSchema()}, MinProperties: new(1),
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		})
	},
}

// fingerprintField lists header fields. An empty list means no fields, not the default.
var fingerprintField = field[ruleDraft]{
	name: "fingerprint-headers", description: "Header fields that distinguish requests with one key; [] for none.", defaultText: "Stripe-Account, X-Tenant-Id and similar",
	read: func(r *reader, d *ruleDraft, n *node) {
		d.FingerprintHeaders = []string{}
		if n.kind == list && len(n.items) == 0 {
			return
		}
		for _, item := range r.each(n, "fingerprint-headers") {
			if s, ok := r.text(item, "fingerprint-headers", "Stripe-Account"); ok {
				if name := r.headerName(s, item); name != "" {
					d.FingerprintHeaders = append(d.FingerprintHeaders, name)
				}
			}
		}
	},
	print: func(d *ruleDraft) *node {
		if d.FingerprintHeaders == nil {
			return nil
		}
		if len(d.FingerprintHeaders) == 0 {
			return &node{kind: list, flow: true}
		}
		return textList(d.FingerprintHeaders)
	},
	schema: func() *jsonschema.Schema {
		return anyOf(textSchema("Stripe-Account"), &jsonschema.Schema{Type: "array", Items: textSchema()})
	},
}

// matchField is "POST /orders", or a mapping with more conditions.
var matchField = field[ruleDraft]{
	name: "match", description: `The requests of the rule: "POST /orders/{id}", "POST,PUT /x", "/x" for any method, or fields.`, required: true,
	read: func(r *reader, d *ruleDraft, n *node) { r.match(&d.Match, n) },
	print: func(d *ruleDraft) *node {
		if d.Match.Path == "" {
			return nil
		}
		s := d.Match.Path
		if len(d.Match.Methods) > 0 {
			s = strings.Join(d.Match.Methods, ",") + " " + s
		}
		return textNode(s)
	},
	schema: func() *jsonschema.Schema { return anyOf(textSchema("POST /orders"), matchShape.schemaOf()) },
}

// besideMatch is a field of match that a rule may have directly.
func besideMatch(f field[Match]) field[ruleDraft] {
	return field[ruleDraft]{
		name: f.name, description: f.description,
		read: func(r *reader, d *ruleDraft, n *node) {
			// The two would be merged silently, and the later field would win.
			if m := d.node.field("match"); m != nil && m.kind == mapping && m.field(f.name) != nil {
				r.errorf(n.at, Conflict, "keep one", "%s is both in match and beside it", f.name)
				return
			}
			f.read(r, &d.Match, n)
		},
		print:  func(d *ruleDraft) *node { return f.print(&d.Match) },
		schema: f.schema,
	}
}

// verbField only remembers the verb and its key. The key is read later, when the rule's
// other fields are known.
func verbField(name, about, example string) field[ruleDraft] {
	return field[ruleDraft]{
		name: name, description: about,
		read: func(r *reader, d *ruleDraft, n *node) { d.verbs = append(d.verbs, pair{name, n.at, n}) },
		print: func(d *ruleDraft) *node {
			if string(d.Do.Verb) != name {
				return nil
			}
			return textNode(d.Do.Key)
		},
		schema: func() *jsonschema.Schema { return textSchema(example) },
	}
}

// presetField is the field in which a rule or a preset names the preset that it builds on.
func presetField(ptr func(*ruleDraft) *string) field[ruleDraft] {
	return field[ruleDraft]{
		name: "preset", description: "A policy by name: click, form, payment, charge, export, short, long, import, or one under presets.",
		read: func(r *reader, d *ruleDraft, n *node) {
			if s, ok := r.text(n, "preset", "payment"); ok {
				*ptr(d) = s
			}
		},
		print:  func(*ruleDraft) *node { return nil }, // the options that it stands for are printed
		schema: func() *jsonschema.Schema { return textSchema("payment") },
	}
}

// ruleUpstream is the rule's own upstream, which replaces the file's as a whole.
var ruleUpstream = field[ruleDraft]{
	name: "to", description: "The upstream of this rule; without it, as in the file.",
	read: func(r *reader, d *ruleDraft, n *node) {
		d.Upstream = new(Upstream)
		r.upstream(d.Upstream, n)
	},
	print: func(d *ruleDraft) *node {
		if d.Upstream == nil {
			return nil
		}
		return upstreamShape.print(d.Upstream)
	},
	schema: upstreamField(func(d *ruleDraft) *Upstream { return d.Upstream }).schema,
}
