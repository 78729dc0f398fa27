// Package i18n contains the texts of the command, in English and in Chinese.
package i18n

import (
	"fmt"
	"strings"
)

// A Language is a language of the command's output.
type Language int

// The languages.
const (
	English Language = iota
	Chinese
)

// A Text is a message in both languages. Both forms take the same arguments.
type Text struct{ en, zh string }

// Say formats a text with arguments.
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

// Pick returns the language of --lang, or else that of the locale. It runs before the
// flags are parsed, so that errors about flags are in the right language, too.
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

// locale returns the language of the environment. As in POSIX, the first variable that
// is set decides.
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
