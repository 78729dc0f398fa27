package serve

import (
	"slices"
	"strings"

	"github.com/interlock-go/interlock/gateway/config"
)

// A Warning is something that is missing before others should depend on a gateway.
type Warning string

// What may be missing.
const (
	Memory      Warning = "memory"    // records are in this process
	NoPrincipal Warning = "nobody"    // senders are not told apart
	OptionalKey Warning = "voluntary" // who sends no key is not guarded
	Unguarded   Warning = "unguarded" // there are no rules
)

// Warnings returns what is missing. That the admin API asks for no token it says itself.
func Warnings(c *config.Config) (lacks []Warning) {
	some := func(is func(config.Rule) bool) bool { return slices.ContainsFunc(c.Rules, is) }
	for _, x := range []struct {
		lack Warning
		is   bool
	}{
		{Unguarded, len(c.Rules) == 0},
		{Memory, c.Engine.URL == "memory"},
		{NoPrincipal, some(func(r config.Rule) bool { return r.Policy.Name != "" && r.Principal.None })},
		{OptionalKey, some(func(r config.Rule) bool { return r.Optional })},
	} {
		if x.is {
			lacks = append(lacks, x.lack)
		}
	}
	return lacks
}

// EngineName is how an engine is called, without passwords and parameters.
func EngineName(e config.Engine) string {
	switch {
	case len(e.Quorum) > 0:
		return "quorum of " + servers(e.Quorum)
	case len(e.Standby) > 0:
		return servers(e.Standby[:1]) + ", with the standby " + servers(e.Standby[1:])
	case e.URL == "memory":
		return e.URL
	}
	return servers([]string{e.URL})
}

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
