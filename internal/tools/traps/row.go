package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A row is a trap, or an item of the security list, and its proof.
type row struct {
	line     int
	security bool
	number   int
	tests    []test
	reason   bool // why there is no test, or not yet one of everything
}

func (r row) String() string {
	if r.security {
		return fmt.Sprintf("%s:%d: security item %d", list, r.line, r.number)
	}
	return fmt.Sprintf("%s:%d: trap %d", list, r.line, r.number)
}

// A test is where a proof is found. Of a law it is the sentence alone.
type test struct {
	file, function, sentence string
}

var (
	numbered = regexp.MustCompile(`^\|\s*(\d+)\s*\|`)
	span     = regexp.MustCompile("`([^`]+)`")
	reason   = regexp.MustCompile(`(?:^|<br>\s*)(?:Later|Not here): \S`)
)

// parse reads the rows of the tables. Those behind the heading "Security" are
// items of the security list.
func parse(text string) (rows []row, wrong []string) {
	security := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "## ") {
			security = strings.Contains(line, "Security")
		}
		m := numbered.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		r := row{line: i + 1, security: security}
		r.number, _ = strconv.Atoi(m[1]) // one that is too large is none of ours
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			wrong = append(wrong, fmt.Sprintf("%v: has %d columns, want 4", r, len(cells)))
			continue
		}
		proof := strings.TrimSpace(cells[3])
		r.reason = reason.MatchString(proof)
		for _, s := range span.FindAllStringSubmatch(proof, -1) {
			if t, ok := citation(s[1]); ok {
				r.tests = append(r.tests, t)
			}
		}
		rows = append(rows, r)
	}
	return rows, wrong
}

// citation reads "file.go: TestName/sentence"; for a law, "file.go: sentence".
func citation(s string) (test, bool) {
	file, name, ok := strings.Cut(s, ": ")
	if !ok || !strings.HasSuffix(file, ".go") {
		return test{}, false
	}
	if isLaws(file) {
		return test{file: file, sentence: name}, true
	}
	function, sentence, _ := strings.Cut(name, "/")
	return test{file, function, sentence}, true
}
