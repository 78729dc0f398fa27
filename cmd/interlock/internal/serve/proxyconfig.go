package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A ProxyConfig describes a gateway by the flags of interlock proxy. Proxy and serve run
// the same code: the flags become a file first.
type ProxyConfig struct {
	To        []string
	Listen    string
	Engine    string   // empty: the embedded engine
	Once      []string // "POST /orders=header.Idempotency-Key"
	RulesFile string   // instead of Once
	Principal string   // none, header:NAME or jwks:FILE
	Trust     []string // trusted proxies, as CIDR prefixes
	Admin     string   // an address, or Off
}

// Off disables the admin API.
const Off = "off"

// YAML returns the equivalent configuration file. The content of a rules file comes
// first, so that line numbers in error messages stay correct.
func (l *ProxyConfig) YAML() ([]byte, error) {
	var b bytes.Buffer
	if l.RulesFile != "" {
		rules, err := os.ReadFile(l.RulesFile)
		if err != nil {
			return nil, err
		}
		b.Write(rules)
		// Otherwise our first field would continue the last line of the file.
		if !bytes.HasSuffix(rules, []byte("\n")) {
			b.WriteByte('\n')
		}
	}
	engine := l.Engine
	if engine == "" {
		engine = "memory"
	}
	fmt.Fprintf(&b, "engine: %s\nlisten: %s\nto: %s\n", quote(engine), quote(l.Listen), quoteList(l.To))
	if len(l.Trust) > 0 {
		fmt.Fprintf(&b, "trusted-proxies: %s\n", quoteList(l.Trust))
	}
	if l.RulesFile == "" || l.Principal != "none" { // a rules file may set its own
		fmt.Fprintf(&b, "principal: %s\n", l.principal())
	}
	// A file without the field has no admin API.
	if l.Admin != Off {
		fmt.Fprintf(&b, "admin: %s\n", quote(l.Admin))
	}
	if l.RulesFile == "" {
		b.WriteString(l.rules())
	}
	return b.Bytes(), nil
}

// principal returns the value of the principal field. ValidPrincipal was checked
// before.
func (l *ProxyConfig) principal() string {
	kind, value, _ := strings.Cut(l.Principal, ":")
	switch kind {
	case "header":
		return fmt.Sprintf("{header: %s}", quote(value))
	case "jwks":
		return fmt.Sprintf("{jwt: {jwks: %s}}", quote(value))
	}
	return "none"
}

// ValidPrincipal accepts none, header:NAME and jwks:FILE.
func ValidPrincipal(s string) bool {
	kind, value, _ := strings.Cut(s, ":")
	return s == "none" || (kind == "header" || kind == "jwks") && value != ""
}

// rules returns the rules of --once. By default, POST and PATCH requests that carry a
// key are guarded: this suits any service.
func (l *ProxyConfig) rules() string {
	scope := ""
	if l.Principal == "none" {
		scope = "    scope: key # without a principal, all users share one key space\n"
	}
	if len(l.Once) == 0 {
		return "rules:\n" +
			"  - name: requests\n" +
			"    match: POST,PATCH /\n" +
			"    once: \"{header.Idempotency-Key|X-Idempotency-Key|Idempotent-Token}\"\n" +
			"    optional: true # requests without a key are not guarded\n" + scope
	}
	var b strings.Builder
	b.WriteString("rules:\n")
	for i, once := range l.Once {
		match, key := splitOnce(once)
		fmt.Fprintf(&b, "  - name: %s\n    match: %s\n    once: %s\n%s", quote(guardName(match, i)), quote(match), quote(key), scope)
	}
	return b.String()
}

// ValidOnce reports whether s has the form MATCH=KEY.
func ValidOnce(s string) bool {
	match, key := splitOnce(s)
	return match != "" && key != ""
}

// splitOnce splits MATCH=KEY. The braces around a key with a single part are optional.
func splitOnce(s string) (match, key string) {
	match, key, _ = strings.Cut(s, "=")
	if key != "" && !strings.Contains(key, "{") {
		key = "{" + key + "}"
	}
	return strings.TrimSpace(match), key
}

// guardName derives a guard's name from its match. Records contain the name, so it must
// not depend on the rule's position. Duplicate names are a mistake that config reports.
func guardName(match string, i int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(match) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if name := strings.Trim(b.String(), "-"); name != "" {
		return name
	}
	return fmt.Sprint("rule-", i+1)
}

// plain matches strings that YAML reads as strings without quotes.
var plain = regexp.MustCompile(`^([a-zA-Z]+://|[a-zA-Z]+[-:/.]|[0-9.]+:[0-9]+$|memory$|[A-Z]+ /)[\w./:@%+-]*$`)

// quote returns a string as a YAML scalar. JSON strings are valid YAML.
func quote(s string) string {
	if plain.MatchString(s) && !strings.HasSuffix(s, ":") {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // strings always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// quoteList returns a YAML list. A single value needs no brackets: config accepts both.
func quoteList(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = quote(s)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
