package rule

import (
	"cmp"
	"unicode/utf8"

	"github.com/interlock-go/interlock/guard"
)

// Messages returns the refusal message for people, by language. Languages without a
// message in the rule get the default. A rule without any message returns nil.
func (r Rule) Messages(defaults guard.Message) guard.Message {
	if r.Message == "" && r.MessageEN == "" && r.MessageZH == "" {
		return nil
	}
	return guard.Message{
		"en": cmp.Or(r.MessageEN, r.Message, defaults["en"]),
		"zh": cmp.Or(r.MessageZH, r.Message, defaults["zh"]),
	}
}

// checkMessages finds messages that are unreadable or never used.
func (r *Rule) checkMessages(l *list) {
	for _, m := range []struct{ option, text string }{{"message", r.Message}, {"message.en", r.MessageEN}, {"message.zh", r.MessageZH}} {
		switch {
		case m.text == "":
		case !utf8.ValidString(m.text):
			l.add(m.option, "%s=%q is not UTF-8: save the file as UTF-8", m.option, shorten(m.text))
		case r.OnDuplicate == Skip:
			l.add(m.option, "the message is never shown with on-duplicate=skip: use on-duplicate=refuse")
		case r.OnTimeout == Zero || r.OnTimeout == Call:
			l.add(m.option, "the message is never shown with %s=%s: use %[1]s=error", r.refusalOption(), r.OnTimeout)
		case m.option == "message" && r.MessageEN != "" && r.MessageZH != "":
			l.add(m.option, "message=%s is never shown, because message.en and message.zh are set: remove it", shorten(m.text))
		}
	}
}
