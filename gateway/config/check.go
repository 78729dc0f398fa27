package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// checkFile reports settings of a file that contradict each other.
func (r *reader) checkFile(c *Config, root *node) {
	// Only the fields that are in the file are checked: a mistake needs a position.
	if n := root.field("principal"); n != nil {
		r.checkPrincipalSource(c, &c.Principal, n)
	}
	if n := root.field("tokens"); n != nil && n.kind == mapping {
		r.checkTokens(c, n)
	}
	if n := root.field("admin"); n != nil && c.Admin != nil {
		r.checkAdmin(c, n)
	}
	if n := root.field("metrics"); n != nil {
		r.checkMetrics(c, n)
	}
	if n := root.field("to"); n != nil && slices.ContainsFunc(c.Upstream.To, func(to *url.URL) bool { return sameServer(to, c.Listen) }) {
		r.errorf(n.at, Conflict, "write the URL of the service", "the upstream is the gateway itself: it listens on %s", quote(c.Listen))
	}
	if c.Limits.Bodies < c.Limits.Body {
		r.errorf(root.field("limits").at, Conflict, "write bodies: with a larger size, such as 256MiB", "limits: bodies is smaller than body, so that the largest allowed body could never pass")
	}
	if n := root.field("namespace"); n != nil {
		r.checkNamespace(c, n)
	}
}

// checkNamespace refuses braces and colons, which have a meaning in keys.
func (r *reader) checkNamespace(c *Config, n *node) {
	const hint = "use letters, digits and dashes"
	switch {
	case strings.ContainsAny(c.Namespace, "{}"):
		r.errorf(n.at, BadValue, hint, "namespace: %s has braces, which a Redis Cluster reads as a hash tag", quote(c.Namespace))
	case strings.Contains(c.Namespace, ":"):
		r.errorf(n.at, BadValue, hint, "namespace: %s has a colon, so its keys would also belong to the namespace before the colon", quote(c.Namespace))
	}
}

// sameServer reports whether a URL leads to a listen address on this machine. Port 0 stands
// for any free port, so no URL leads to it.
func sameServer(u *url.URL, listen string) bool {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return false
	}
	want := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return want == port && (host == u.Hostname() || loopback(u.Hostname()) && (loopback(host) || host == "" || host == "0.0.0.0" || host == "::"))
}

// checkPrincipalSource reports principals that no request could have.
func (r *reader) checkPrincipalSource(c *Config, p *Principal, n *node) {
	switch {
	case p.Header != "" && len(c.Trusted) == 0:
		r.errorf(n.at, Conflict, "add trusted-proxies: [10.0.0.0/8] with the addresses of your proxies", "principal is a header, but trusted-proxies is empty, so that the header would never be trusted")
	case p.MTLS && (c.TLS == nil || c.TLS.ClientCA == ""):
		r.errorf(n.at, Conflict, "add tls with client-ca:", "principal: mtls needs client certificates, and the server does not ask for them")
	}
}

// checkTokens reports a token endpoint that no rule needs, or whose path cannot be matched
// literally.
func (r *reader) checkTokens(c *Config, n *node) {
	// A default has no position of its own, and is reported at the section.
	at := func(name string) rule.Pos {
		if f := n.field(name); f != nil {
			return f.at
		}
		return n.at
	}
	// The gateway compares this path literally, so a wildcard in it would never match.
	if p := c.Tokens.Path; !strings.HasPrefix(p, "/") || badPattern(p) != "" || strings.ContainsAny(p, "{}?#") {
		r.errorf(at("path"), BadValue, "write "+DefaultTokenPath, "path: %s is not a path without wildcards", quote(p))
	}
	used := func(form string) bool {
		return slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Form != "" && (form == "" || r.Form == form) })
	}
	switch form := c.Tokens.Form; {
	case r.incomplete: // the rule with the form may be the one that could not be read
	case !used(""):
		r.errorf(n.at, Conflict, "write once: order:{token} in a rule, or leave tokens out", "tokens are issued, but no rule uses them")
	case !used(form):
		r.errorf(at("form"), Conflict, "use the form of a rule, which is its name unless it has form:", "no rule has the form %s", quote(form))
	}
}

// checkAdmin refuses an admin API that other machines could use or intercept. The same check
// is in admin.CheckListen, for programs without a file.
func (r *reader) checkAdmin(c *Config, n *node) {
	a, at := c.Admin, n.at
	if l := n.field("listen"); l != nil {
		at = l.at
	}
	host, _, err := net.SplitHostPort(a.Listen)
	switch {
	case err != nil:
	// The port 0 is a different free port for each listener.
	case a.Listen == c.Listen && !strings.HasSuffix(a.Listen, ":0"):
		r.errorf(at, Conflict, "give the admin API its own port, such as "+DefaultAdminListen, "admin listens on the same address as the gateway")
	// Other machines cannot reach it, so tokens and TLS are optional.
	case loopback(host):
	case len(a.Tokens) == 0 && a.TLS == nil:
		r.errorf(at, Conflict, "add tokens and tls, or listen on "+DefaultAdminListen, "the admin API at %s would be open to the network", quote(a.Listen))
	case len(a.Tokens) == 0:
		r.errorf(at, Conflict, "add tokens, or listen on "+DefaultAdminListen, "the admin API at %s has no tokens: any client on the network could release any lock", quote(a.Listen))
	case a.TLS == nil:
		r.errorf(at, Conflict, "add tls, or listen on "+DefaultAdminListen, "the admin API at %s has no tls: tokens would cross the network in the clear", quote(a.Listen))
	}
}

// checkMetrics refuses an address that another listener has.
func (r *reader) checkMetrics(c *Config, n *node) {
	other := ""
	switch {
	case strings.HasSuffix(c.Metrics, ":0"):
	case c.Metrics == c.Listen:
		other = "gateway"
	case c.Admin != nil && c.Metrics == c.Admin.Listen:
		other = "admin API"
	}
	if other != "" {
		r.errorf(n.at, Conflict, "give the metrics their own port, such as "+exampleMetrics, "metrics listens on the same address as the %s", other)
	}
}

// checkRule reports settings of a rule that contradict each other.
func (r *reader) checkRule(c *Config, d *ruleDraft, verb pair) {
	at := func(name string) rule.Pos { return d.node.field(name).at }
	if n := d.node.field("principal"); n != nil {
		r.checkPrincipalSource(c, &d.Principal, n)
	}
	if lease := max(d.Do.Lease, d.Policy.Lease); c.Engine.LongestLease > 0 && lease > c.Engine.LongestLease {
		place := verb.at
		for _, name := range []string{"preset", "lease"} {
			if n := d.node.field(name); n != nil {
				place = n.at
			}
		}
		r.errorf(place, Conflict, "shorten it, or write longest-lease: "+durationText(lease)+" under engine, in the file of every gateway",
			"the engine grants no lease of %s: its longest lease is %s", durationText(lease), durationText(c.Engine.LongestLease))
	}
	if !d.Do.Verb.Guards() {
		// These fields concern stored responses and tokens, which only a guard has.
		for _, name := range []string{"tee", "form", "fingerprint-headers", "not-executed", "keep-redirects"} {
			if d.node.has(name) {
				r.errorf(at(name), Conflict, "leave it out, or write once", "%s has no effect on a %s", name, d.Do.Verb)
			}
		}
		if d.hasToken {
			r.errorf(verb.at, Conflict, "write once or submit", "a token is valid once, and cannot be the key of a %s", d.Do.Verb)
		}
		return
	}
	for _, m := range d.Match.Methods {
		if slices.Contains(safeMethods, m) {
			r.errorf(d.node.field("match").at, Conflict, "leave "+m+" out, or write lock or limit", "%s changes nothing, and cannot be guarded by %s", m, d.Do.Verb)
		}
	}
	if n := d.node.field("retain"); n != nil && d.Policy.Retain < time.Second {
		r.warnf(n.at, BadValue, "write retain: 24h", "retain: %s is so short that a retry would run again", n.text)
	}
	if d.KeepRedirects && d.Do.Verb == rule.Submit {
		r.errorf(at("keep-redirects"), Conflict, "leave it out, or write once", "keep-redirects has no effect: submit stores no responses")
	}
	r.checkScope(d, verb)
	r.checkForm(c, d, verb)
	// Last, report what package guard refuses, if no check above has explained it better.
	if err := d.Policy.Check(); err != nil && !d.invalid && len(r.errs) == 0 {
		r.errorf(d.At, Conflict, "see docs/config.md", "%s", strings.TrimPrefix(err.Error(), "guard: "))
	}
}

// safeMethods change nothing on the service.
var safeMethods = []string{"GET", "HEAD", "OPTIONS", "TRACE"}

// checkScope refuses rules in which a client could get another's response by guessing
// its key.
func (r *reader) checkScope(d *ruleDraft, verb pair) {
	// Both scopes put the user into the key of a record.
	perUser := d.Do.Scope == guard.PerUser || d.Do.Scope == guard.PerRoute
	at := verb.at
	if n := d.node.field("scope"); n != nil {
		at = n.at
	} else if n := d.node.field("preset"); n != nil && !d.unscoped {
		at = n.at
	}
	switch {
	case d.invalid || d.node.has("principal") && d.Principal == (Principal{}): // already reported
	// The rule has neither a scope nor a principal, and the default scope needs a user.
	case d.unscoped:
		r.errorf(at, Missing, "add principal: (header, jwt or mtls); or scope: key, if all clients share one key space", "keys belong to a user, and the rule has no principal")
	// The scope needs a user, and principal: none has no user. One of the two is a mistake.
	case perUser && d.Principal.None:
		r.errorf(at, Conflict, "write scope: key, or add principal: (header, jwt or mtls)", "scope: %s needs a user, and principal: none has no user", d.Do.Scope)
	case perUser && d.Principal == (Principal{}):
		r.errorf(at, Conflict, "add principal: (header, jwt or mtls), or write scope: key", "scope: %s needs a user, and the rule has no principal", d.Do.Scope)
	}
}

// checkForm reports rules whose tokens cannot be issued.
func (r *reader) checkForm(c *Config, d *ruleDraft, verb pair) {
	at := verb.at
	if n := d.node.field("form"); n != nil {
		at = n.at
	}
	// The name is known only now: it may come from the key.
	if d.hasToken && d.Form == "" {
		d.Form = d.Do.Name
	}
	switch {
	case d.Form == "":
	case c.Tokens == nil:
		r.errorf(at, Conflict, "add tokens: {} to the file", "the key is a token, and the file has no tokens section to issue it")
	case d.Principal.None || d.Principal == (Principal{}) && !d.node.has("principal"):
		r.errorf(at, Conflict, "add principal: (header, jwt or mtls), or use a key that clients choose", "a token is issued to a user, and the rule has no principal")
	// The signature covers the whole token, so the key may contain nothing else.
	case d.Key != nil && (strings.Count(d.Key.String(), "{") != 1 || !strings.HasPrefix(d.Key.String(), "{")):
		r.errorf(verb.at, BadKey, fmt.Sprintf("write %s: %s:{token}", verb.name, nameFor(&d.Match)), "a token is the whole key, and cannot be combined with other parts")
	}
}

// checkRules compares rules with each other.
func (r *reader) checkRules(c *Config) {
	byName := map[string]*Rule{}
	for i := range c.Rules {
		current := &c.Rules[i]
		// A rule with continue or shadow does not hide those after it.
		before := slices.IndexFunc(c.Rules[:i], func(first Rule) bool { return first.Last() && first.hides(current) })
		if before >= 0 && current.Match.Path != "" {
			r.errorf(current.At, Conflict, "put this rule first, narrow the other rule down, or write continue: true in the other rule", "the rule is never reached: the rule on line %d matches all of its requests", c.Rules[before].At.Line)
			continue
		}
		// Rules of one name share their keys on the engine, so their records must agree.
		if first := byName[current.Do.Name]; first != nil {
			r.checkSameName(first, current)
		} else if current.Do.Name != "" {
			byName[current.Do.Name] = current
		}
	}
}

// checkSameName reports two rules of one name whose records contradict each other.
func (r *reader) checkSameName(a, b *Rule) {
	switch {
	case a.Do.Verb != b.Do.Verb:
		r.errorf(b.At, Conflict, "give one of them another name", "%s is the name of this %s and of the %s on line %d", b.Do.Name, b.Do.Verb, a.Do.Verb, a.At.Line)
	case a.Do.Verb.Guards() && !reflect.DeepEqual(a.Policy, b.Policy):
		r.errorf(b.At, Conflict, "give one of them another name, or share a preset", "the rule on line %d has the same name %s, but another policy", a.At.Line, b.Do.Name)
	}
}
