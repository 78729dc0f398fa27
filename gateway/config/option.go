package config

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// applyOptions combines the options of the rule and its preset, and lets package rule
// parse them.
func (r *reader) applyOptions(d *ruleDraft, verb pair) {
	options := d.options
	below, ok := r.preset(d.Preset, d.node.field("preset"), nil)
	if !ok {
		return
	}
	// Options that do not fit the verb would cause further errors, which explain less.
	if d.Preset != "" && !r.presetFits(d, below, verb) {
		return
	}
	all := override(below.options, options)
	for _, o := range all {
		// Print shows the preset as the origin of each option that the rule does not set.
		if !slices.ContainsFunc(options, func(w rule.Option) bool { return w.Name.Text == o.Name.Text }) {
			r.setOrigin(o.Name.Text, "preset "+d.Preset)
		}
	}
	if d.Message == nil && below.message != nil {
		d.Message = below.message
		r.setOrigin("message", "preset "+d.Preset)
	}
	do, ok := r.parseOptions(rule.Word{Text: verb.name, At: verb.at}, all, d)
	// Even after a mistake in the options, later checks depend on the verb.
	do.Verb = rule.Verb(verb.name)
	if d.Key != nil {
		do.Key = d.Key.String()
	}
	d.Do = do
	d.invalid = d.invalid || !ok
}

// presetFits reports whether a preset can be used with the verb.
func (r *reader) presetFits(d *ruleDraft, s presetOptions, verb pair) bool {
	at := d.node.field("preset").at
	switch v := rule.Verb(verb.name); {
	case !v.Guards():
		r.errorf(at, Conflict, "leave it out, or write once or submit", "presets are for once and submit; a %s has no policy", v)
	case s.verbs != nil && !slices.Contains(s.verbs, v) && !d.node.has("after"):
		what := "refuses repeats, and stores no response"
		if s.verbs[0] == rule.Once {
			what = "stores responses"
		}
		r.errorf(at, Conflict, "write "+string(s.verbs[0])+" instead of "+verb.name, "preset %s %s, which is not what %s does", d.Preset, what, verb.name)
	default:
		return true
	}
	return false
}

// parseOptions lets package rule parse the options. Package rule expects a key in Go
// syntax, as in a directive. parseOptions passes a stand-in, because the key of a file is a
// template, and is checked elsewhere.
func (r *reader) parseOptions(verb rule.Word, options []rule.Option, d *ruleDraft) (rule.Rule, bool) {
	standIn := rule.Option{Name: rule.Word{Text: "key", At: verb.At}, Value: rule.Word{Text: "user,key", At: verb.At}}
	do, errs := rule.Parse(verb, append(slices.Clip(options), standIn))
	for _, e := range errs {
		what, hint := splitHint(e.Text)
		r.errorf(e.At, BadOption, hint, "%s", what)
	}
	ok := len(errs) == 0
	// A function in Go can skip a duplicate without a result; a request needs a response.
	if i := slices.IndexFunc(options, func(o rule.Option) bool { return o.Name.Text == "on-duplicate" && o.Value.Text == string(rule.Skip) }); i >= 0 {
		r.errorf(options[i].Value.At, BadOption, "use refuse, or replay with once", "on-duplicate: skip is for functions; a client needs a response")
		ok = false
	}
	// d is nil for a preset, whose verb is only assumed.
	if d != nil && do.Verb == rule.Once && ok && do.Policy().WithDefaults().After != guard.Keep {
		r.errorf(r.positionOf(options, "after", "window", verb.At), Conflict, "write submit instead of once", "once stores the response for repeats, but this option discards it")
		ok = false
	}
	return do, ok
}

// positionOf returns the position of the first of two options that is set, or else of the
// verb.
func (r *reader) positionOf(options []rule.Option, a, b string, verb rule.Pos) rule.Pos {
	for _, name := range []string{a, b} {
		for _, o := range options {
			if o.Name.Text == name {
				return o.Value.At
			}
		}
	}
	return verb
}

// directiveOption matches an option as written in a directive, name=value.
// Package rule writes its messages for directives, and this package shows them for files.
var directiveOption = regexp.MustCompile(`\b(name|kind|wait|lease|max-hold|after|window|retain|scope|on-duplicate|on-error|on-unknown|on-down|local-cache|status|message|rate|zone)=`)

// Patterns of the messages of package rule.
var (
	hintSuffix = regexp.MustCompile(`^(.*) \((did you mean .*\?)\)$`)
	valueOnly  = regexp.MustCompile(`^[a-z-]+: (\S+|".*")$`)
)

// splitHint splits a message of package rule into what is wrong and what to write
// instead, and turns name=value into the syntax of a file.
func splitHint(s string) (what, hint string) {
	if m := hintSuffix.FindStringSubmatch(s); m != nil {
		s, hint = m[1], m[2]
	} else if i := strings.LastIndex(s, ": "); i >= 0 {
		s, hint = s[:i], s[i+2:]
	}
	what, hint = directiveOption.ReplaceAllString(s, "$1: "), directiveOption.ReplaceAllString(hint, "$1: ")
	switch what {
	case "scope: global":
		hint = "in a file, write scope: key"
	case "scope: user":
		hint = "in a file, write scope: user+key"
	}
	if valueOnly.MatchString(what) {
		what += " is not known"
	}
	if strings.HasPrefix(what, "name: ") {
		what = strings.Replace(what, "is not known", "is not a name", 1)
	}
	return what, hint
}

// optionNode returns an option for printing, or nil.
func optionNode(do *rule.Rule, name string) *node {
	// Settings writes an option in the syntax that the reader accepts.
	words, _ := rule.Split(do.Settings(), rule.Pos{Line: 1, Col: 1})
	for _, w := range words {
		if w.Name.Text == name {
			return plainNode(w.Value.Text)
		}
	}
	return nil
}

// setDefaults fills in the options that a rule leaves out. So Print and the admin API show
// the options that apply, and new defaults of a later release do not change a printed file.
func (r *reader) setDefaults(d *ruleDraft) {
	switch d.Do.Verb {
	case rule.Lock:
		d.Do.Kind, d.Do.Wait = cmp.Or(d.Do.Kind, rule.Reentrant), cmp.Or(d.Do.Wait, rule.DefaultWait)
		return
	case rule.Limit:
		d.Do.OnError = cmp.Or(d.Do.OnError, guard.Keep)
		if d.Do.Rate.Per != "" {
			d.Do.Zone = cmp.Or(d.Do.Zone, "UTC")
		}
		return
	}
	// With principal: none there are no users, so all clients share one key space.
	if d.Do.Scope == "" && d.Principal.None {
		d.Do.Scope = guard.Global
	} else if d.Do.Scope == "" {
		d.Do.Scope = guard.PerUser
		d.unscoped = d.Principal == (Principal{})
	}
	p := d.Do.Policy()
	p.Message = d.Message
	// Only the defaults that apply are filled in, so that Print does not show a retention for a
	// rule that stores nothing.
	full := p.WithDefaults()
	d.Do.After, d.Do.OnDuplicate, d.Do.OnError, d.Do.OnUnknown, d.Do.OnDown = full.After, full.OnDuplicate, full.OnError, full.OnUnknown, full.OnDown
	d.Do.Window, d.Do.Lease, d.Do.MaxHold, d.Do.LocalCache, d.Do.Status = p.Window, full.Lease, full.MaxHold, full.LocalCache, full.Status
	if full.After == guard.Keep || full.OnError == guard.Keep || full.OnUnknown == guard.Hold {
		d.Do.Retain = full.Retain
	}
	if full.OnDuplicate == guard.Wait {
		d.Do.Wait = full.Wait
	}
	d.Policy = d.Do.Policy()
	d.Policy.Message = d.Message
}
