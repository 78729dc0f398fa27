package doctor

import (
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// A Finding is a problem or a notice about an engine.
type Finding struct {
	Code     Code
	Severity Severity
	Node     string // address of the server, or name of a part; "" for the whole engine

	Seen  Text // the observation
	Means Text // its consequence
	Do    Text // the fix

	// Commands are the commands of the fix, for that server.
	Commands []string
}

// A Severity ranks findings.
type Severity string

// The severities, worst first.
const (
	Fail Severity = "fail" // locks are lost, granted twice, or cannot be granted
	Warn Severity = "warn" // the same happens if something else fails as well
	Note Severity = "note" // information
)

// rank orders severities, the worst first.
func rank(s Severity) int {
	return map[Severity]int{Fail: 0, Warn: 1, Note: 2}[s]
}

// A Language is a language of a [Text].
type Language string

// The languages.
const (
	English Language = "en"
	Chinese Language = "zh"
)

// A Text is a message in both languages. A report carries both, so that one examination
// serves readers of either.
type Text struct{ EN, ZH string }

// In returns the text in a language. Default: English.
func (t Text) In(l Language) string {
	if l == Chinese {
		return t.ZH
	}
	return t.EN
}

// with formats both forms with arguments.
func (t Text) with(args ...any) Text {
	if len(args) == 0 {
		return t
	}
	return Text{fmt.Sprintf(t.EN, args...), fmt.Sprintf(t.ZH, args...)}
}

// find adds a finding. The arguments are those of its Seen text.
func (x *exam) find(c Code, node string, args ...any) {
	x.findAs(catalogue[c].severity, c, node, args...)
}

// findAs is find with a severity other than the catalogue's.
func (x *exam) findAs(s Severity, c Code, node string, args ...any) {
	e := catalogue[c]
	if c == Latency && x.product != engine.Redis {
		e.commands = nil // they are commands of Redis
	}
	x.findings = append(x.findings, Finding{
		Code: c, Severity: s, Node: node,
		// Commands is shared with the catalogue: replace it, but do not modify it.
		Seen: e.seen.with(args...), Means: e.means, Do: e.do, Commands: e.commands,
	})
}
