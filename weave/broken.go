package weave

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// mistakeLine is the prefix of each line that describes a mistake in a broken file.
const mistakeLine = "//_ilmistake "

// broken returns the text to compile instead of a file with mistakes. It contains the
// mistakes, and it does not compile. So the mistakes fail the builds that need the file,
// and no others.
func broken(text []byte, mistakes Errors) ([]byte, error) {
	var b bytes.Buffer
	b.Write(text)
	for _, m := range mistakes {
		line, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("weave: %w", err)
		}
		fmt.Fprintf(&b, "\n%s%s", mistakeLine, line)
	}
	b.WriteString("\nvar _ = mistakes_in_directives_see_interlock_lint\n")
	return b.Bytes(), nil
}

// mistakesOf returns the mistakes in the files of a call of the compiler.
func mistakesOf(args []string) error {
	var all Errors
	for _, file := range args[(&compilation{args: args}).firstFile():] {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("\n"+mistakeLine)) {
			continue // the compiler reports a file that it cannot read
		}
		for line := range strings.Lines(string(text)) {
			m := new(Error)
			if text, ok := strings.CutPrefix(line, mistakeLine); ok && json.Unmarshal([]byte(text), m) == nil {
				all = append(all, m)
			}
		}
	}
	return all.err()
}

// stopsAtMistakes runs a tool, unless it is the compiler and a file has mistakes.
func stopsAtMistakes(args, tool []string) error {
	if toolName(tool[0]) == "compile" && !slices.Contains(tool, "-V=full") {
		if err := mistakesOf(tool); err != nil {
			return err
		}
	}
	return run(args)
}
