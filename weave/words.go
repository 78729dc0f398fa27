package weave

import (
	"os"
	"strings"
)

// words splits a list of words as the go command does for GOFLAGS and -toolexec. A word
// with spaces must be quoted. The go command reports an unclosed quote.
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

// givenFlags returns the flags of GOFLAGS followed by args.
func givenFlags(args []string) []string { return append(words(os.Getenv("GOFLAGS")), args...) }
