package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A Line is a gateway that is described by a command line.
type Line struct {
	To        []string
	Listen    string
	Redis     string   // empty: in this process
	Once      []string // "POST /orders=header.Idempotency-Key"
	RulesFile string   // or a file with rules
	Principal string   // none, header:NAME or jwks:FILE
	Trust     []string // of proxies, as prefixes
	Admin     string   // an address, or Off
}

// Off is said of an admin API that is not to be.
const Off = "off"

// File returns the configuration that says the same. What a file of rules says stands
// first, so that its lines keep their numbers.
func (l *Line) File() ([]byte, error) {
	var b bytes.Buffer
	if l.RulesFile != "" {
		rules, err := os.ReadFile(l.RulesFile)
		if err != nil {
			return nil, err
		}
		b.Write(rules)
		if !bytes.HasSuffix(rules, []byte("\n")) {
			b.WriteByte('\n')
		}
	}
	engine := l.Redis
	if engine == "" {
		engine = "memory"
	}
	fmt.Fprintf(&b, "engine: %s\nlisten: %s\nto: %s\n", word(engine), word(l.Listen), words(l.To))
	if len(l.Trust) > 0 {
		fmt.Fprintf(&b, "trusted-proxies: %s\n", words(l.Trust))
	}
	if l.RulesFile == "" || l.Principal != "none" { // a file of rules may say who
		fmt.Fprintf(&b, "principal: %s\n", l.principal())
	}
	if l.Admin != Off {
		fmt.Fprintf(&b, "admin: %s\n", word(l.Admin))
	}
	if l.RulesFile == "" {
		b.WriteString(l.rules())
	}
	return b.Bytes(), nil
}

func (l *Line) principal() string {
	kind, value, _ := strings.Cut(l.Principal, ":")
	switch kind {
	case "header":
		return fmt.Sprintf("{header: %s}", word(value))
	case "jwks":
		return fmt.Sprintf("{jwt: {jwks: %s}}", word(value))
	}
	return "none"
}

// KnownPrincipal tells whether it is clear who is meant.
func KnownPrincipal(s string) bool {
	kind, value, _ := strings.Cut(s, ":")
	return s == "none" || (kind == "header" || kind == "jwks") && value != ""
}

// rules are those of the line, or what protects something without knowing the service:
// requests that change something and carry a key are answered once.
func (l *Line) rules() string {
	scope := ""
	if l.Principal == "none" {
		scope = "    scope: key # nobody is known, so that everybody shares their keys\n"
	}
	if len(l.Once) == 0 {
		return "rules:\n" +
			"  - name: requests\n" +
			"    match: POST,PATCH /\n" +
			"    once: \"{header.Idempotency-Key}\"\n" +
			"    optional: true # who sends no key is not guarded\n" + scope
	}
	var b strings.Builder
	b.WriteString("rules:\n")
	for i, once := range l.Once {
		match, key := pair(once)
		fmt.Fprintf(&b, "  - name: %s\n    match: %s\n    once: %s\n%s", word(nameOf(match, i)), word(match), word(key), scope)
	}
	return b.String()
}

// Pair tells whether a text is a match and a key, with an equals sign between.
func Pair(s string) bool {
	match, key := pair(s)
	return match != "" && key != ""
}

// pair takes a match and a key apart. One part of a key need not stand in braces.
func pair(s string) (match, key string) {
	match, key, _ = strings.Cut(s, "=")
	if key != "" && !strings.Contains(key, "{") {
		key = "{" + key + "}"
	}
	return strings.TrimSpace(match), key
}

// nameOf makes a name of the letters of a path. Records carry it, so that it must not
// depend on how many rules there are before; two rules may not have the same.
func nameOf(match string, i int) string {
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

// plain is what YAML takes for a text without quotes.
var plain = regexp.MustCompile(`^([a-zA-Z]+://|[a-zA-Z]+[-:/.]|[0-9.]+:[0-9]+$|memory$|[A-Z]+ /)[\w./:@%+-]*$`)

// word is a text as YAML reads it back.
func word(s string) string {
	if plain.MatchString(s) && !strings.HasSuffix(s, ":") {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func words(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = word(s)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
