package doctor

import "fmt"

// A Finding is something about an engine that its operator should know.
type Finding struct {
	Code     Code
	Severity Severity
	Node     string // the address of the server, or the name of a part; "" is the whole

	Seen  Text // what is so
	Means Text // what may come of it
	Do    Text // what to change

	// Commands are what to type, on that server if there is one.
	Commands []string
}

// A Severity is how bad a finding is.
type Severity string

// The severities, worst first.
const (
	Fail Severity = "fail" // locks are lost, granted twice, or not granted at all
	Warn Severity = "warn" // they may be, if something else goes wrong
	Note Severity = "note" // nothing is wrong, but it is good to know
)

func rank(s Severity) int {
	return map[Severity]int{Fail: 0, Warn: 1, Note: 2}[s]
}

// A Language is one that a [Text] can be read in.
type Language string

// The languages.
const (
	English Language = "en"
	Chinese Language = "zh"
)

// A Text says one thing in both languages.
type Text struct{ EN, ZH string }

// In returns the text in a language. Any other than Chinese is English.
func (t Text) In(l Language) string {
	if l == Chinese {
		return t.ZH
	}
	return t.EN
}

// with puts arguments into both forms.
func (t Text) with(args ...any) Text {
	if len(args) == 0 {
		return t
	}
	return Text{fmt.Sprintf(t.EN, args...), fmt.Sprintf(t.ZH, args...)}
}

// find notes a finding. The arguments go into what was seen.
func (x *exam) find(c Code, node string, args ...any) {
	x.findAs(catalogue[c].severity, c, node, args...)
}

// findAs is find with another severity than the usual.
func (x *exam) findAs(s Severity, c Code, node string, args ...any) {
	e := catalogue[c]
	x.findings = append(x.findings, Finding{
		Code: c, Severity: s, Node: node,
		Seen: e.seen.with(args...), Means: e.means, Do: e.do, Commands: e.commands,
	})
}
