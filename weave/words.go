package weave

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
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

// givenFlags returns the effective GOFLAGS followed by args. The go command reads GOFLAGS
// from the environment, or else from the file that go env -w writes.
func givenFlags(ctx context.Context, dir string, args []string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOFLAGS")
	cmd.Dir = dir
	out, err := cmd.Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		err = errors.New(strings.TrimSpace(string(e.Stderr)))
	}
	if err != nil {
		return nil, fmt.Errorf("weave: go env GOFLAGS in %s: %w", dir, err)
	}
	return append(words(string(out)), args...), nil
}
