package main

import (
	"embed"
	"fmt"
	"strings"
)

// The hand-written mutants are patches in sets/*.txt, separated by blank lines:
//
//	unlock-twice: a deferred second unlock releases another's lock
//	hold.go
//	-	case h.ended:
//	+	case false:
//
// Lines that begin with a space are context. In a set without a suite of laws the second
// line also names the test that must fail, as in "rule/parse.go rule.TestMistakes", or the
// law, as in "engine/etcd/renew.go engine/etcd.TestLaws/another holder cannot renew".
//
//go:embed sets/*.txt
var patches embed.FS

// readSet returns the mutants of a set, and the tests that some of them name.
func readSet(name string) (ms []mutant, tests map[string]string, err error) {
	text, err := patches.ReadFile("sets/" + name + ".txt")
	if err != nil {
		return nil, nil, err
	}
	tests = make(map[string]string)
	for i, block := range strings.Split(strings.Trim(string(text), "\n"), "\n\n") {
		m, test, err := parsePatch(block)
		if err != nil {
			return nil, nil, fmt.Errorf("sets/%s.txt: patch %d: %w", name, i+1, err)
		}
		ms = append(ms, m)
		if test != "" {
			tests[m.name] = test
		}
	}
	return ms, tests, nil
}

// parsePatch reads one patch. Old and new text are whole lines.
func parsePatch(block string) (m mutant, test string, err error) {
	lines := strings.Split(block, "\n")
	name, why, ok := strings.Cut(lines[0], ": ")
	if !ok || len(lines) < 3 {
		return mutant{}, "", fmt.Errorf("%q: want name: reason, a file and changed lines", lines[0])
	}
	m.name, m.why = name, why
	m.file, test, _ = strings.Cut(lines[1], " ")
	var before, after []string
	for _, line := range lines[2:] {
		text := line[1:]
		switch line[0] {
		case ' ':
			before, after = append(before, text), append(after, text)
		case '-':
			before = append(before, text)
		case '+':
			after = append(after, text)
		default:
			return mutant{}, "", fmt.Errorf("%s: line %q begins with neither space, - nor +", name, line)
		}
	}
	m.old, m.new = joinLines(before), joinLines(after)
	return m, test, nil
}

func joinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
