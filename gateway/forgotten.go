package gateway

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/rule"
)

// A forgottenRule is a rule whose records no longer match after a reload.
type forgottenRule struct {
	rule    string
	changed string // the fields that changed
}

// forgotten returns the rules whose records the next snapshot does not find: with it, a
// retry of an earlier request gets another key or fingerprint.
func forgotten(last, following *snapshot) (all []forgottenRule) {
	before, next := last.config, following.config
	noSecret := lost(last.settings.secrets, following.settings.secrets)
	rules := map[string]*config.Rule{}
	for i := range next.Rules {
		rules[next.Rules[i].Do.Name] = &next.Rules[i]
	}
	for i := range before.Rules {
		was := &before.Rules[i]
		if was.Do.Verb == rule.Lock || was.Shadow {
			continue
		}
		var changed []string
		is := rules[was.Do.Name]
		if is == nil || is.Do.Verb != was.Do.Verb {
			changed = []string{"name"}
		} else {
			changed = changedKey(was, is)
		}
		if before.Namespace != next.Namespace {
			changed = append(changed, "namespace")
		}
		if noSecret {
			changed = append(changed, "secrets")
		}
		if len(changed) > 0 {
			all = append(all, forgottenRule{was.Do.Name, strings.Join(changed, ", ")})
		}
	}
	return all
}

// changedKey returns the fields of a rule that have changed and that its keys or
// fingerprints depend on.
func changedKey(was, is *config.Rule) (changed []string) {
	for _, x := range []struct {
		name string
		same bool
	}{
		{"key", keyText(was) == keyText(is)},
		{"scope", was.Policy.Scope == is.Policy.Scope},
		{"principal", reflect.DeepEqual(was.Principal, is.Principal)},
		{"match", bareHost(was.Match.Host) == bareHost(is.Match.Host) && samePath(was.Match.Path, is.Match.Path)},
		{"form", was.Form == is.Form}, // a token of another form is refused
		{"fingerprint-headers", reflect.DeepEqual(was.FingerprintHeaders, is.FingerprintHeaders)},
	} {
		if !x.same {
			changed = append(changed, x.name)
		}
	}
	return changed
}

// keyText returns the key of a rule with numbers in place of its wildcards' names, because
// a renamed wildcard does not change keys.
func keyText(r *config.Rule) string {
	if r.Key == nil {
		return ""
	}
	text := r.Key.String()
	if p, err := parsePattern(cmp.Or(r.Match.Path, "/")); err == nil {
		for i, s := range p.segments {
			if s.name != "" {
				text = strings.NewReplacer("{path."+s.name+"}", fmt.Sprintf("{path.%d}", i), "{path."+s.name+":", fmt.Sprintf("{path.%d:", i)).Replace(text)
			}
		}
	}
	return text
}

// samePath reports whether two paths differ at most in the names of their wildcards.
func samePath(a, b string) bool {
	p, err := parsePattern(a)
	q, err2 := parsePattern(b)
	if err != nil || err2 != nil || p.below != q.below || len(p.segments) != len(q.segments) {
		return a == b
	}
	for i := range p.segments {
		if p.segments[i].literal != q.segments[i].literal || (p.segments[i].name == "") != (q.segments[i].name == "") {
			return false
		}
	}
	return true
}

// lost reports whether a secret was removed, or overwritten in its file. An added secret
// does not matter: a guard still tries the older secrets, and plain hashes.
func lost(before, next [][]byte) bool {
	return slices.ContainsFunc(before, func(was []byte) bool {
		return !slices.ContainsFunc(next, func(is []byte) bool { return bytes.Equal(was, is) })
	})
}
