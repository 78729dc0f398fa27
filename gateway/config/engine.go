package config

import (
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/rule"
)

// engineURL matches the URLs of the engines, without checking their hosts.
var engineURL = regexp.MustCompile(`^(rediss?(\+sentinel|\+cluster)?|postgres(ql)?|mysql|mariadb|etcds?|zks?)://[^\s/]\S*$`)

// schemes are the beginnings of URLs that a wrong one may be meant as.
var schemes = []string{"redis", "rediss", "redis+sentinel", "redis+cluster", "postgres", "postgresql", "mysql", "mariadb", "etcd", "etcds", "zk", "zks", "zookeeper"}

// examples are what to write, by the first letters of a scheme.
var examples = []struct{ scheme, url string }{
	{"redis", "redis://host:6379"}, {"postgres", "postgres://user@host:5432/db"}, {"mysql", "mysql://user@host:3306/db"}, {"mariadb", "mysql://user@host:3306/db"}, {"etcd", "etcd://host:2379"}, {"zk", "zk://host:2181"},
}

// exampleOf returns the example for a URL, that of Redis for unknown ones.
func exampleOf(url string) string {
	for _, e := range examples {
		if strings.HasPrefix(url, e.scheme) {
			return e.url
		}
	}
	return examples[0].url
}

// meantScheme returns the scheme that the author of an unknown URL probably meant, or "".
func meantScheme(s string) string {
	scheme, _, ok := strings.Cut(s, "://")
	if !ok || slices.Contains(schemes[:len(schemes)-1], scheme) {
		return ""
	}
	meant := rule.Meant(strings.ToLower(scheme), schemes)
	if meant == "zookeeper" || scheme == "zookeeper" {
		return "zk"
	}
	return meant
}

// engineField accepts one URL, or a quorum or standby of several.
var engineField = field[Config]{
	name: "engine", description: "Stores locks and records: memory, the URL of a redis, postgres, mysql, etcd or zk engine, or quorum or standby with a list of URLs.",
	read: func(r *reader, c *Config, n *node) {
		// The default engine must not remain beside a quorum or standby.
		if n.kind == mapping {
			c.Engine = Engine{LongestLease: defaultLongestLease}
			engineShape.read(r, &c.Engine, n)
			r.checkEngine(&c.Engine, n)
			return
		}
		if s, ok := r.engine(n, true); ok {
			c.Engine = Engine{URL: s}
		}
	},
	print: func(c *Config) *node {
		if c.Engine.URL != "" {
			// Print goes to logs and tickets, so a password in the URL is replaced.
			return textNode(redact(c.Engine.URL))
		}
		return engineShape.print(&c.Engine)
	},
	schema: func() *jsonschema.Schema { return anyOf(textSchema("memory"), engineShape.schemaOf()) },
}

// engineShape describes engines of several servers. checkEngine requires either quorum or
// standby.
var engineShape = shape[Engine]{name: "engine", fields: []field[Engine]{
	enginesField("quorum", "Three or more URLs of independent servers; a majority decides.", func(e *Engine) *[]string { return &e.Quorum }),
	enginesField("standby", "Two URLs; the first is in use until an operator switches.", func(e *Engine) *[]string { return &e.Standby }),
	durationField("longest-lease", "The longest lease of a rule. A restarted node of a quorum does not vote for that long.", defaultLongestLease, time.Second, 24*time.Hour, func(e *Engine) *time.Duration { return &e.LongestLease }),
}}

// defaultLongestLease is the default of packages quorum and standby.
const defaultLongestLease = time.Minute

// enginesField is a list of engine URLs. Each server may occur once: a quorum that counts one
// server twice is not a majority.
func enginesField(name, about string, ptr func(*Engine) *[]string) field[Engine] {
	return field[Engine]{
		name: name, description: about,
		read: func(r *reader, e *Engine, n *node) {
			if n.kind != list {
				r.wrongType(n, name, "be a list", "write "+name+": [redis://a:6379, redis://b:6379, …]")
				return
			}
			for _, item := range n.items {
				s, ok := r.engine(item, false)
				if ok && slices.Contains(*ptr(e), s) {
					r.errorf(item.at, Duplicate, "name each server once", "the list contains %s twice", quote(redact(s)))
				}
				// An invalid URL still counts, so that checkEngine does not report a
				// short list as well.
				*ptr(e) = append(*ptr(e), s)
			}
		},
		print: func(e *Engine) *node {
			redacted := slices.Clone(*ptr(e))
			for i := range redacted {
				redacted[i] = redact(redacted[i])
			}
			return textList(redacted)
		},
		schema: func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "array", Items: textSchema(), MinItems: new(2), Examples: []any{"[redis://a:6379, redis://b:6379]"}}
		},
	}
}

// engine reads the URL of one engine. memory is allowed outside of a list only.
func (r *reader) engine(n *node, memory bool) (string, bool) {
	s, ok := r.expanded(n, "engine", "redis://127.0.0.1:6379")
	switch {
	case !ok:
		return "", false
	case s == "memory" && memory:
		return s, true
	case engineURL.MatchString(s):
		if bad, hint := badServers(s); bad != "" {
			r.errorf(n.at, BadValue, hint, "engine: %s", bad)
			return "", false
		}
		return s, true
	case s == "memory":
		r.errorf(n.at, Conflict, "use URLs such as redis://host:6379, or engine: memory by itself", "memory exists in one process only, and cannot be part of a quorum or standby")
	case rule.Meant(s, []string{"memory"}) != "":
		r.errorf(n.at, BadValue, "did you mean memory?", "engine: %s is not known", quote(s))
	case slices.Contains(products, strings.ToLower(s)):
		r.errorf(n.at, BadValue, "write "+strings.Replace(exampleOf(productScheme(s)), "host", "127.0.0.1", 1), "engine: %s is not a URL", s)
	case meantScheme(s) != "":
		r.errorf(n.at, BadValue, "did you mean "+meantScheme(s)+"://?", "engine: %s is not known", quote(redact(s)))
	// In a list in brackets, the commas of a cluster URL separate items.
	case !memory:
		r.errorf(n.at, BadValue, "write redis://host:6379, in quotes if it contains commas", "engine: %s is not the URL of an engine", quote(redact(s)))
	default:
		r.errorf(n.at, BadValue, "write memory, redis://host:6379, redis+sentinel://a,b,c/mymaster, redis+cluster://a,b, postgres://user@host:5432/db, mysql://user@host:3306/db, etcd://a,b,c or zk://a,b,c", "engine: %s is not known", quote(redact(s)))
	}
	return "", false
}

// products are the words that are written in place of a URL.
var products = []string{"redis", "postgres", "postgresql", "mysql", "mariadb", "etcd", "zk", "zookeeper"}

// productScheme returns the scheme of a product.
func productScheme(s string) string {
	if s = strings.ToLower(s); s == "zookeeper" {
		return "zk"
	}
	return s
}

// badServers returns what is wrong with the hosts of a URL, or with its path, and a hint. The
// engine checks the rest when it is opened.
func badServers(s string) (bad, hint string) {
	scheme, rest, _ := strings.Cut(s, "://")
	rest, _, _ = strings.Cut(rest, "?")
	hosts, path, _ := strings.Cut(rest[strings.LastIndexByte(rest, '@')+1:], "/")
	hint = "write " + exampleOf(scheme) + ", with a port from 1 to 65535"
	if strings.HasPrefix(scheme, "redis") {
		hint += " and a number for the database"
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if bad := badHost(host); bad != "" {
			return bad, hint
		}
	}
	switch _, err := strconv.ParseUint(path, 10, 16); {
	case strings.HasPrefix(scheme, "redis") && path != "" && err != nil && !strings.Contains(scheme, "sentinel"):
		return quote(path) + " is not the number of a database", hint
	case strings.HasPrefix(scheme, "etcd") && strings.Trim(path, "/") != "":
		return "the URL of etcd has the path " + quote(path), "leave the path out; ?prefix= sets the prefix of the keys"
	case strings.HasPrefix(scheme, "postgres") && strings.Contains(path, "/"), isMySQL(scheme) && strings.Contains(path, "/"):
		return quote(path) + " is not the name of a database", hint
	case isMySQL(scheme) && path == "":
		return "the URL of MySQL names no database", "write " + exampleOf(scheme)
	case isMySQL(scheme) && strings.Contains(hosts, ","):
		return "the URL of MySQL has several hosts", "name the primary, or a proxy that finds it"
	}
	return "", ""
}

func isMySQL(scheme string) bool { return scheme == "mysql" || scheme == "mariadb" }

// badHost returns what is wrong with host or host:port, or "".
func badHost(host string) string {
	name, port := host, "1"
	if strings.Contains(strings.TrimPrefix(host, "["), ":") && !strings.HasSuffix(host, "]") {
		var err error
		if name, port, err = net.SplitHostPort(host); err != nil {
			return quote(host) + " is not host:port"
		}
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return quote(port) + " is not a port"
	}
	if name == "" {
		return "the URL has no host"
	}
	return ""
}

// checkEngine checks how many engines a quorum or standby has.
func (r *reader) checkEngine(e *Engine, n *node) {
	quorum, standby := n.field("quorum"), n.field("standby")
	switch {
	case quorum != nil && standby != nil:
		r.errorf(standby.at, Conflict, "keep one", "engine has both quorum and standby")
	case quorum == nil && standby == nil:
		r.errorf(n.at, Missing, "add quorum: [a, b, c] or standby: [a, b], or write one URL instead", "engine has neither quorum nor standby")
	// A majority of two servers is both of them, so two servers fail more often than one.
	case quorum != nil && quorum.kind == list && len(e.Quorum) < 3:
		r.errorf(quorum.at, BadValue, "name three or five; for two, use standby", "a quorum of %d servers cannot lose one", len(e.Quorum))
	case standby != nil && standby.kind == list && len(e.Standby) != 2:
		r.errorf(standby.at, BadValue, "name two: the one in use, and the one to switch to", "standby has %d engines, want 2", len(e.Standby))
	}
}

// password and parameter match the secrets in a URL. A password may contain an @, and if
// it was not encoded, also a slash; a port contains neither. The parameter listen of
// PostgreSQL is a URL with a password of its own, often escaped.
var (
	password  = regexp.MustCompile(`(://[^/@\s]*?:)(?:[^/\s]*[^0-9/\s][^/\s]*/\S*|[^/\s]+)@`)
	parameter = regexp.MustCompile(`(?i)([?&;][^=&;\s]*(?:pass|secret|token|auth|listen)[^=&;\s]*=)[^&\s"',\]}]+`)
)

// redact replaces the passwords in a URL, or in a line with URLs, with ***.
func redact(s string) string {
	// The password comes first: it may contain a ? that looks like a parameter.
	return parameter.ReplaceAllString(password.ReplaceAllString(s, "${1}***@"), "${1}***")
}
