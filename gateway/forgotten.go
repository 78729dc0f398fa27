package gateway

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/gateway/config"
)

// A forgottenRule is a rule whose records no longer match after a reload.
type forgottenRule struct {
	rule    string
	changed string // the fields that changed
}

// forgotten returns the rules whose records the next snapshot does not find, because under
// its rules a retry of an earlier request gets another key or fingerprint.
func forgotten(before, after *snapshot) (all []forgottenRule) {
	oldConfig, newConfig := before.config, after.config
	secretLost := lost(before.settings.secrets, after.settings.secrets)
	rules := map[string]*config.Rule{}
	for i := range newConfig.Rules {
		rules[newConfig.Rules[i].Do.Name] = &newConfig.Rules[i]
	}
	for i := range oldConfig.Rules {
		oldRule := &oldConfig.Rules[i]
		if !oldRule.Do.Verb.Guards() || oldRule.Shadow {
			continue
		}
		var changed []string
		newRule := rules[oldRule.Do.Name]
		if newRule == nil || newRule.Do.Verb != oldRule.Do.Verb {
			changed = []string{"name"}
		} else {
			changed = changedKey(oldRule, newRule)
		}
		if oldConfig.Namespace != newConfig.Namespace {
			changed = append(changed, "namespace")
		}
		if secretLost {
			changed = append(changed, "secrets")
		}
		if len(changed) > 0 {
			all = append(all, forgottenRule{oldRule.Do.Name, strings.Join(changed, ", ")})
		}
	}
	return all
}

// changedKey returns the fields of a rule that have changed and that its keys or
// fingerprints depend on.
func changedKey(oldRule, newRule *config.Rule) (changed []string) {
	for _, x := range []struct {
		name string
		same bool
	}{
		{"key", keyText(oldRule) == keyText(newRule)},
		{"scope", oldRule.Policy.Scope == newRule.Policy.Scope},
		{"principal", reflect.DeepEqual(oldRule.Principal, newRule.Principal)},
		{"match", bareHost(oldRule.Match.Host) == bareHost(newRule.Match.Host) && samePath(oldRule.Match.Path, newRule.Match.Path)},
		{"form", oldRule.Form == newRule.Form}, // a token of another form is refused
		{"fingerprint-headers", reflect.DeepEqual(oldRule.FingerprintHeaders, newRule.FingerprintHeaders)},
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
func lost(before, after [][]byte) bool {
	return slices.ContainsFunc(before, func(secret []byte) bool {
		return !slices.ContainsFunc(after, func(kept []byte) bool { return bytes.Equal(secret, kept) })
	})
}
