package config

import (
	"regexp"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// options has package rule read what the rule and its preset say.
func (r *reader) applyOptions(d *ruleDraft, verb pair) {
	own := d.options
	below, ok := r.preset(d.Preset, d.node.field("preset"), nil)
	if !ok {
		return
	}
	if d.Preset != "" && !r.presetFits(d, below, verb) {
		return
	}
	all := override(below.options, own)
	for _, o := range all {
		if !slices.ContainsFunc(own, func(w rule.Option) bool { return w.Name.Text == o.Name.Text }) {
			r.setOrigin(o.Name.Text, "preset "+d.Preset)
		}
	}
	if d.Message == nil && below.message != nil {
		d.Message = below.message
		r.setOrigin("message", "preset "+d.Preset)
	}
	do, ok := r.parseOptions(rule.Word{Text: verb.name, At: verb.at}, all, d)
	do.Verb = rule.Verb(verb.name)
	if d.Key != nil {
		do.Key = d.Key.String()
	}
	d.Do = do
	d.invalid = d.invalid || !ok
}

// presetFits tells whether a preset is for the verb.
func (r *reader) presetFits(d *ruleDraft, s presetOptions, verb pair) bool {
	at := d.node.field("preset").at
	switch v := rule.Verb(verb.name); {
	case v == rule.Lock:
		r.errorf(at, Conflict, "leave it out, or write once or submit", "presets are for once and submit: a lock keeps nothing when the work is over")
	case s.verbs != nil && !slices.Contains(s.verbs, v) && !d.node.has("after"):
		what := "refuses repeats, and keeps no answer"
		if s.verbs[0] == rule.Once {
			what = "keeps answers"
		}
		r.errorf(at, Conflict, "write "+string(s.verbs[0])+" instead of "+verb.name, "preset %s %s", d.Preset, what)
	default:
		return true
	}
	return false
}

// parseOptions has package rule judge. Of a key it expects Go, and gets some: ours
// is a template, which has been judged by itself.
func (r *reader) parseOptions(verb rule.Word, options []rule.Option, d *ruleDraft) (rule.Rule, bool) {
	standIn := rule.Option{Name: rule.Word{Text: "key", At: verb.At}, Value: rule.Word{Text: "user,key", At: verb.At}}
	do, errs := rule.Parse(verb, append(slices.Clip(options), standIn))
	for _, e := range errs {
		what, hint := splitHint(e.Text)
		r.errorf(e.At, BadOption, hint, "%s", what)
	}
	ok := len(errs) == 0
	if i := slices.IndexFunc(options, func(o rule.Option) bool { return o.Name.Text == "on-duplicate" && o.Value.Text == string(rule.Skip) }); i >= 0 {
		r.errorf(options[i].Value.At, BadOption, "use refuse, or replay with once", "on-duplicate: skip is for functions, and a client has to be told something")
		ok = false
	}
	if d != nil && do.Verb == rule.Once && ok && do.Policy().WithDefaults().After != guard.Keep {
		r.errorf(r.positionOf(options, "after", "window", verb.At), Conflict, "write submit instead of once", "once keeps the answer for whoever asks again, and this says to keep none")
		ok = false
	}
	return do, ok
}

// place is where the first of two options stands, or else the verb.
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

// assigned is how options are written in a directive.
var directiveOption = regexp.MustCompile(`\b(name|kind|wait|lease|max-hold|after|window|retain|scope|on-duplicate|on-error|on-unknown|on-down|local|status|message)=`)

// Forms of what package rule says.
var (
	hintSuffix = regexp.MustCompile(`^(.*) \((did you mean .*\?)\)$`)
	valueOnly  = regexp.MustCompile(`^[a-z-]+: (\S+|".*")$`)
)

// halves takes what package rule says apart: what is wrong, and what to write
// instead, as it is written in a file.
func splitHint(s string) (what, hint string) {
	if m := hintSuffix.FindStringSubmatch(s); m != nil {
		s, hint = m[1], m[2]
	} else if i := strings.LastIndex(s, ": "); i >= 0 {
		s, hint = s[:i], s[i+2:]
	}
	what, hint = directiveOption.ReplaceAllString(s, "$1: "), directiveOption.ReplaceAllString(hint, "$1: ")
	switch what {
	case "scope: global":
		hint = "it is called key here"
	case "scope: user":
		hint = "it is called user+key here"
	}
	if valueOnly.MatchString(what) {
		what += " is not known"
	}
	if strings.HasPrefix(what, "name: ") {
		what = strings.Replace(what, "is not known", "is not a name", 1)
	}
	return what, hint
}

// optionNode returns an option as it is printed.
func optionNode(do *rule.Rule, name string) *node {
	words, _ := rule.Split(do.Settings(), rule.Pos{Line: 1, Col: 1})
	for _, w := range words {
		if w.Name.Text == name {
			return plainNode(w.Value.Text)
		}
	}
	return nil
}

// fill says in words what a rule does that leaves something out.
func (r *reader) setDefaults(d *ruleDraft) {
	if d.Do.Verb == rule.Lock {
		if d.Do.Kind == "" {
			d.Do.Kind = rule.Reentrant
		}
		if d.Do.Wait == 0 {
			d.Do.Wait = rule.DefaultWait
		}
		return
	}
	if d.Do.Scope == "" && d.Principal.None {
		d.Do.Scope = guard.Global
	} else if d.Do.Scope == "" {
		d.Do.Scope = guard.PerUser
		d.unscoped = d.Principal == (Principal{})
	}
	p := d.Do.Policy()
	p.Message = d.Message
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

func joined(names []string) string { return strings.Join(names, ", ") }
