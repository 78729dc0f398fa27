// Package i18n holds what the command says, in English and in Chinese.
package i18n

import (
	"fmt"
	"strings"
)

// A Language is one in which the command speaks.
type Language int

// The languages.
const (
	English Language = iota
	Chinese
)

// A Text is one thing to say. Both forms take the same arguments.
type Text struct{ en, zh string }

// Say puts arguments into a text.
func (l Language) Say(t Text, args ...any) string {
	form := t.en
	if l == Chinese {
		form = t.zh
	}
	if len(args) == 0 {
		return form
	}
	return fmt.Sprintf(form, args...)
}

// Parse returns the language that a code such as en names.
func Parse(code string) (Language, bool) {
	switch code {
	case "en":
		return English, true
	case "zh":
		return Chinese, true
	}
	return English, false
}

// Pick returns the language to speak before the arguments have been read in
// earnest, since what is wrong with them is to be said in it, too: that of
// --lang, or else that of the locale.
func Pick(args []string, getenv func(string) string) Language {
	for i, a := range args {
		if a == "--" {
			break
		}
		code, ok := strings.CutPrefix(a, "--lang=")
		if a == "--lang" && i+1 < len(args) {
			code, ok = args[i+1], true
		}
		if l, known := Parse(code); ok && known {
			return l
		}
	}
	return locale(getenv)
}

// locale reads the environment as POSIX asks for: the first that is set counts.
func locale(getenv func(string) string) Language {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := getenv(name); v != "" {
			if strings.HasPrefix(strings.ToLower(v), "zh") {
				return Chinese
			}
			return English
		}
	}
	return English
}
