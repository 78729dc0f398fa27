package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// withDefault returns f with def as its documented default, in the notation of the config
// file. The text is only shown: in the schema, the hints and docs/config.md. The value
// itself is set elsewhere, as in Default.
func withDefault[T any](f field[T], def string) field[T] {
	f.defaultText = def
	return f
}

// An expandedField is a string in which ${NAME} is replaced from the environment.
func expandedField[T any](name, about, example string, ptr func(*T) *string) field[T] {
	// Only a few fields expand variables; Parse lists them. Elsewhere ${ is plain text.
	f := stringField(name, about, example, ptr)
	f.read = func(r *reader, to *T, n *node) {
		if s, ok := r.expanded(n, name, example); ok {
			*ptr(to) = s
		}
	}
	return f
}

// A listenField is an address to listen on, host:port, with a default.
func listenField[T any](name, about, def string, ptr func(*T) *string) field[T] {
	return withDefault(addressField(name, about, def, ptr), def)
}

// An addressField is an address to listen on, host:port.
func addressField[T any](name, about, example string, ptr func(*T) *string) field[T] {
	f := stringField(name, about, example, ptr)
	f.read = func(r *reader, to *T, n *node) {
		// listen: 8080 is a common mistake, and YAML reads it as a number.
		if n.kind == number {
			r.errorf(n.at, BadValue, fmt.Sprintf("write 127.0.0.1:%s, or :%[1]s for every address", n.text), "%s: %s is a port without an address", name, n.text)
			return
		}
		s, ok := r.expanded(n, name, example)
		if !ok {
			return
		}
		_, port, err := net.SplitHostPort(s)
		// net.SplitHostPort accepts any text as a port, also the name of a service.
		number, bad := strconv.Atoi(port)
		switch {
		case err != nil && strings.Contains(s, "://"):
			r.errorf(n.at, BadValue, "write "+example, "%s: %s is a URL, not host:port", name, quote(s))
		case err != nil:
			r.errorf(n.at, BadValue, "write "+example, "%s: %s is not host:port", name, quote(s))
		case bad != nil || number < 0 || number > 65535:
			r.errorf(n.at, BadValue, "use 1 to 65535, or 0 for a free port", "%s: %s is not a port", name, quote(port))
		default:
			*ptr(to) = s
		}
	}
	return f
}

// trustedField accepts networks and single addresses. It refuses a network that
// contains every address: any client could then claim to be any user.
var trustedField = field[Config]{
	name: "trusted-proxies", description: "Networks of the proxies whose X-Forwarded-* and principal header are trusted.",
	read: func(r *reader, c *Config, n *node) {
		for _, item := range r.each(n, "trusted-proxies") {
			s, ok := r.text(item, "trusted-proxies", "[10.0.0.0/8]")
			if !ok {
				continue
			}
			p, err := netip.ParsePrefix(s)
			// A zone names an interface of this machine, and a prefix cannot contain one.
			if a, bad := netip.ParseAddr(s); bad == nil && a.Zone() == "" {
				p, err = netip.PrefixFrom(a, a.BitLen()), nil
			}
			switch {
			case err != nil:
				r.errorf(item.at, BadValue, "write 10.0.0.0/8, or one address", "trusted-proxies: %s is not an address or network", quote(s))
			case p.Bits() == 0:
				r.errorf(item.at, BadValue, "name the network of your proxies", "trusted-proxies: %s contains every address, so that any client could claim to be any user", s)
			// 10.0.0.1/8 could mean one proxy or the whole network, and a guess could
			// trust too many.
			case p != p.Masked():
				r.errorf(item.at, BadValue, fmt.Sprintf("write %s", p.Masked()), "trusted-proxies: %s has host bits set", s)
			default:
				c.Trusted = append(c.Trusted, p)
			}
		}
	},
	print: func(c *Config) *node {
		all := make([]string, len(c.Trusted))
		for i, p := range c.Trusted {
			all[i] = p.String()
		}
		return textList(all)
	},
	schema: func() *jsonschema.Schema { return oneOrMore(textSchema("10.0.0.0/8")) },
}
