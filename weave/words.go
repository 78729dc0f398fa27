package weave

import (
	"os"
	"strings"
)

// words splits a value of the go command that is a list of words, such as GOFLAGS
// or -toolexec: one with spaces in it is within quotes, which begin with it. A
// quote that does not end is for the go command to complain about.
func words(s string) []string {
	var list []string
	for s = strings.TrimLeft(s, " \t\r\n"); s != ""; s = strings.TrimLeft(s, " \t\r\n") {
		end := strings.IndexAny(s+" ", " \t\r\n")
		word, rest := s[:end], s[end:]
		if quote := s[0]; quote == '\'' || quote == '"' {
			word, rest, _ = strings.Cut(s[1:], string(quote))
		}
		list, s = append(list, word), rest
	}
	return list
}

// givenFlags are flags as the go command sees them: those of GOFLAGS come first.
func givenFlags(args []string) []string { return append(words(os.Getenv("GOFLAGS")), args...) }
