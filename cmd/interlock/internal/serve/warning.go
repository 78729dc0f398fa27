package serve

import (
	"slices"
	"strings"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
)

// A Warning names a setting that is fine for a first try, but not for production.
type Warning string

// The warnings.
const (
	Memory      Warning = "memory"       // records are lost on a restart and not shared
	NoPrincipal Warning = "no-principal" // all users share one key space
	OptionalKey Warning = "optional-key" // requests without a key are not guarded
	NoRules     Warning = "no-rules"     // nothing is guarded
	Rerun       Warning = "rerun"        // a request with an unknown outcome runs again
	ShortRetain Warning = "short-retain" // a late retry runs again
)

// Warnings returns the warnings about a configuration. Package cli has the text of each
// warning. The admin API itself warns about missing tokens.
func Warnings(c *config.Config) (all []Warning) {
	anyRule := func(matches func(config.Rule) bool) bool { return slices.ContainsFunc(c.Rules, matches) }
	for _, x := range []struct {
		warning Warning
		is      bool
	}{
		{NoRules, len(c.Rules) == 0},
		{Memory, c.Engine.URL == "memory"},
		// Only guards have a policy with a name; a lock without a principal is fine.
		{NoPrincipal, anyRule(func(r config.Rule) bool { return r.Policy.Name != "" && r.Principal.None })},
		{Rerun, anyRule(weak(guard.WeakRerun))},
		{ShortRetain, anyRule(weak(guard.WeakRetain))},
		{OptionalKey, anyRule(func(r config.Rule) bool { return r.Optional })},
	} {
		if x.is {
			all = append(all, x.warning)
		}
	}
	return all
}

// weak returns a function that reports whether a rule is a guard with that weakness.
func weak(w guard.Weakness) func(config.Rule) bool {
	return func(r config.Rule) bool { return r.Policy.Name != "" && slices.Contains(r.Policy.Weaknesses(), w) }
}

// EngineName describes an engine without passwords and parameters.
func EngineName(e config.Engine) string {
	switch {
	case len(e.Quorum) > 0:
		return "quorum of " + servers(e.Quorum)
	case len(e.Standby) > 0:
		return servers(e.Standby[:1]) + " with standby " + servers(e.Standby[1:])
	case e.URL == "memory":
		return e.URL
	}
	return servers([]string{e.URL})
}

// servers returns the hosts of URLs. Package url does not parse several hosts.
func servers(urls []string) string {
	names := make([]string, len(urls))
	for i, url := range urls {
		scheme, rest, _ := strings.Cut(url, "://")
		if end := strings.IndexAny(rest, "/?#"); end >= 0 {
			rest = rest[:end]
		}
		names[i] = scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
	}
	return strings.Join(names, ", ")
}
