package config

import (
	"strconv"

	"github.com/interlock-go/interlock/rule"
)

// rules reads the rules of a file, after everything else.
func (r *reader) rules(c *Config) {
	if r.ruleList == nil {
		return
	}
	fields := ruleShape()
	for i, n := range r.ruleList.items {
		d := &ruleDraft{node: n}
		d.At = n.at
		r.within("rules", func() {
			r.within(strconv.Itoa(i), func() {
				fields.read(r, d, n)
				if n.kind == mapping {
					r.rule(c, d)
				}
			})
		})
		c.Rules = append(c.Rules, d.Rule)
	}
	r.checkRules(c)
}

// rule completes a rule from its draft: key, options, principal, defaults, checks.
func (r *reader) rule(c *Config, d *ruleDraft) {
	verb, ok := r.verb(d)
	if !ok {
		r.incomplete = true
		return
	}
	d.Do.Verb = rule.Verb(verb.name)
	// The name comes from the key, and is an option, so the key is read before the
	// options.
	keyed := r.template(d, verb.value)
	r.applyOptions(d, verb)
	// An invalid principal of the rule must not fall back to the file's.
	if d.Principal == (Principal{}) && !d.node.has("principal") {
		d.Principal = c.Principal
	}
	r.setDefaults(d)
	if keyed {
		r.checkKey(d, verb)
	}
	r.checkRule(c, d, verb)
}

// verb returns the rule's lock, once, submit or limit field.
func (r *reader) verb(d *ruleDraft) (pair, bool) {
	switch len(d.verbs) {
	case 0:
		r.errorf(d.node.at, Missing, "add lock:, once:, submit: or limit: with a key, such as lock: pay:{path.id}", "the rule has no lock, once, submit or limit")
		return pair{}, false
	case 1:
		return d.verbs[0], true
	}
	// A lock and a guard of one request have an order, which two rules make visible.
	for _, v := range d.verbs[1:] {
		r.errorf(v.at, Conflict, "make a rule of each, and write continue: true in the first", "the rule has both %s and %s", d.verbs[0].name, v.name)
	}
	return pair{}, false
}
