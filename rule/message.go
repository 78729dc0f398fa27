package rule

import (
	"cmp"
	"unicode/utf8"

	"github.com/interlock-go/interlock/guard"
)

// Messages returns what a person is told who was refused, by language. A language
// of which the rule says nothing has its default. If it says nothing at all, there
// are none.
func (r Rule) Messages(defaults guard.Message) guard.Message {
	if r.Message == "" && r.MessageEN == "" && r.MessageZH == "" {
		return nil
	}
	return guard.Message{
		"en": cmp.Or(r.MessageEN, r.Message, defaults["en"]),
		"zh": cmp.Or(r.MessageZH, r.Message, defaults["zh"]),
	}
}

// checkMessages finds messages that cannot be read, or that nobody would read.
func (r *Rule) checkMessages(l *list) {
	for _, m := range []struct{ option, text string }{{"message", r.Message}, {"message.en", r.MessageEN}, {"message.zh", r.MessageZH}} {
		switch {
		case m.text == "":
		case !utf8.ValidString(m.text):
			l.add(m.option, "%s=%q is not UTF-8: save the file as UTF-8", m.option, shorten(m.text))
		case r.OnDuplicate == Skip:
			l.add(m.option, "nobody is told the message with on-duplicate=skip: use on-duplicate=refuse")
		case r.OnTimeout == Zero || r.OnTimeout == Call:
			l.add(m.option, "nobody is told the message with on-timeout=%s: use on-timeout=error", r.OnTimeout)
		case m.option == "message" && r.MessageEN != "" && r.MessageZH != "":
			l.add(m.option, "nobody is told message=%s, since there are message.en and message.zh: leave it out", shorten(m.text))
		}
	}
}
