package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// A builtin is a named policy of package guard, and the verbs it is for: once stores
// responses, submit does not.
type builtin struct {
	policy func(string) guard.Policy
	verbs  []rule.Verb
}

// builtins are part of the format: a file may rely on their names.
var builtins = map[string]builtin{
	"click":   {guard.Click, []rule.Verb{rule.Submit}},
	"form":    {guard.Form, []rule.Verb{rule.Submit}},
	"payment": {guard.Payment, []rule.Verb{rule.Submit}},
	"export":  {guard.Export, []rule.Verb{rule.Submit}},
	"charge":  {guard.Charge, []rule.Verb{rule.Once}},
	"import":  {guard.Import, []rule.Verb{rule.Once}},
	"short":   {guard.Short, []rule.Verb{rule.Once, rule.Submit}},
	"long":    {guard.Long, []rule.Verb{rule.Once, rule.Submit}},
}

// readPresets reads the file's own presets.
func (r *reader) readPresets() {
	if r.presetMap == nil {
		return
	}
	for _, p := range r.presetMap.pairs {
		// A file must not change the meaning of a name that other files use.
		if _, builtIn := builtins[p.name]; builtIn {
			r.errorf(p.at, Duplicate, "choose another name, and write preset: "+p.name+" in it to build on that", "%s is the name of a built-in preset", p.name)
			continue
		}
		// All presets are read before the first is checked: one may build on a later one.
		d := &ruleDraft{node: p.value}
		r.within("presets", func() { r.within(p.name, func() { presetShape().read(r, d, p.value) }) })
		r.presets[p.name] = d
	}
	for _, p := range r.presetMap.pairs {
		if d := r.presets[p.name]; d != nil {
			r.checkPreset(p.name, d)
		}
	}
}

// checkPreset reports mistakes in a preset even if no rule uses it.
func (r *reader) checkPreset(name string, d *ruleDraft) {
	b, ok := r.preset(d.basePreset, d.node.field("preset"), []string{name})
	if !ok || d.invalid {
		return
	}
	// A preset has no verb. Its options decide which one it is checked with.
	verb := rule.Once
	if all := override(b.options, d.options); !keepsResult(all) {
		verb = rule.Submit
	}
	// The result is dropped: only its errors count here.
	r.parseOptions(rule.Word{Text: string(verb), At: d.node.at}, override(b.options, d.options), nil)
}

// keepsResult reports whether the options store a result, as once does.
func keepsResult(options []rule.Option) bool {
	return !slices.ContainsFunc(options, func(o rule.Option) bool {
		return o.Name.Text == "window" || o.Name.Text == "after" && o.Value.Text != string(guard.Keep)
	})
}

// presetOptions are the contents of a preset.
type presetOptions struct {
	options []rule.Option
	message guard.Message
	verbs   []rule.Verb // the verbs that the preset is for; nil: once and submit
}

// preset returns the contents of a preset. n is the field that names it. The options get the
// position of n, because a mistake has to be corrected there. trail lists the presets that
// build on this one, to find cycles.
func (r *reader) preset(name string, n *node, trail []string) (presetOptions, bool) {
	if name == "" || n == nil {
		return presetOptions{}, n == nil || n.kind == text
	}
	if b, ok := builtins[name]; ok {
		return presetOptions{moveTo(policyOptions(b.policy("x")), n.at), nil, b.verbs}, true
	}
	d, ok := r.presets[name]
	switch {
	case !ok:
		r.errorf(n.at, BadValue, presetHint(name, r.presets), "%s is not a preset", quote(name))
		return presetOptions{}, false
	case slices.Contains(trail, name):
		r.errorf(n.at, Conflict, "remove one preset: field of the cycle", "preset %s builds on itself", quote(name))
		return presetOptions{}, false
	}
	// The message of a preset is kept apart: it is a mapping, and options are texts.
	below, ok := r.preset(d.basePreset, d.node.field("preset"), append(trail, name))
	if !ok {
		return presetOptions{}, false
	}
	s := presetOptions{moveTo(override(below.options, d.options), n.at), below.message, below.verbs}
	if d.Message != nil {
		s.message = d.Message
	}
	return s, true
}

// presetHint suggests the preset that was probably meant, or lists all.
func presetHint(name string, filePresets map[string]*ruleDraft) string {
	names := append(sorted(builtins), sorted(filePresets)...)
	if meant := rule.Meant(name, names); meant != "" {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	return fmt.Sprintf("choose from %s, or add it under presets", strings.Join(names, ", "))
}

// policyOptions returns a policy as options.
func policyOptions(p guard.Policy) []rule.Option {
	// A policy takes the form of a file's options, so that override treats both alike.
	words, _ := rule.Split(rule.Rule{
		Verb: rule.Once, After: p.After, Window: p.Window, Retain: p.Retain, Scope: p.Scope, Lease: p.Lease, MaxHold: p.MaxHold,
		OnDuplicate: p.OnDuplicate, OnError: p.OnError, OnUnknown: p.OnUnknown, OnDown: p.OnDown,
	}.Settings(), rule.Pos{Line: 1, Col: 1})
	return words
}

// moveTo returns the options with another position.
func moveTo(options []rule.Option, at rule.Pos) []rule.Option {
	moved := slices.Clone(options)
	for i := range moved {
		moved[i].Name.At, moved[i].Value.At = at, at
	}
	return moved
}

// override returns the options below, overridden by those in over. window and retain
// belong to after, and max-hold belongs to lease: a new value of after or lease discards
// the values that belong to it.
func override(below, over []rule.Option) []rule.Option {
	sets := func(name string) bool {
		return slices.ContainsFunc(over, func(o rule.Option) bool { return o.Name.Text == name })
	}
	var all []rule.Option
	for _, o := range below {
		switch name := o.Name.Text; {
		case sets(name):
		case sets("after") && (name == "window" || name == "retain"):
		case sets("on-unknown") && name == "retain" && !keepsResult(below):
		case sets("lease") && name == "max-hold":
		default:
			all = append(all, o)
		}
	}
	return append(all, over...)
}
