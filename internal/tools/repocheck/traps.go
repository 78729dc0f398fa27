package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	trapsPage     = "docs/traps.md"
	trapCount     = 80
	minTrapTests  = 65 // the least number of traps with a test
	securityCount = 35
)

// A trap is a row of docs/traps.md: a trap of idempotency, or an item of the
// security list.
type trap struct {
	security bool
	number   int
}

func (tr trap) String() string {
	if tr.security {
		return fmt.Sprintf("security item %d", tr.number)
	}
	return fmt.Sprintf("trap %d", tr.number)
}

var (
	numberedRow = regexp.MustCompile(`^\|\s*(\d+)\s*\|`)
	noTest      = regexp.MustCompile(`(?:^|<br>\s*)(?:Later|Not here): \S`)
)

// traps checks docs/traps.md. Every trap has a row with a test, or with a reason why it has
// no test. The tests exist.
func traps(t tree) (summary string, wrong []string, err error) {
	text, err := t.read(trapsPage)
	if err != nil {
		return "", nil, err
	}
	ts, err := t.tests()
	if err != nil {
		return "", nil, err
	}
	seen := make(map[trap]bool)
	cited, tested, security := 0, map[bool]int{}, false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "## ") {
			security = strings.Contains(line, "Security")
		}
		m := numberedRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		tr := trap{security: security}
		tr.number, _ = strconv.Atoi(m[1]) // the pattern has digits only
		complain := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %v: ", trapsPage, i+1, tr)+fmt.Sprintf(format, args...))
		}
		if seen[tr] {
			complain("appears twice")
		}
		seen[tr] = true
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			complain("has %d columns, want 4", len(cells))
			continue
		}
		proof := strings.TrimSpace(cells[3])
		proofs := citations(proof)
		cited += len(proofs)
		if len(proofs) > 0 {
			tested[security]++
		} else if !noTest.MatchString(proof) {
			complain("has neither a test nor a reason")
		}
		for _, c := range proofs {
			if why := ts.missing(c); why != "" {
				complain("%s", why)
			}
		}
	}
	for _, list := range []struct {
		security bool
		count    int
	}{{false, trapCount}, {true, securityCount}} {
		for n := 1; n <= list.count; n++ {
			if tr := (trap{list.security, n}); !seen[tr] {
				wrong = append(wrong, fmt.Sprintf("%s: %v is missing", trapsPage, tr))
			}
		}
	}
	if tested[false] < minTrapTests {
		wrong = append(wrong, fmt.Sprintf("%s: %d traps have a test, want at least %d", trapsPage, tested[false], minTrapTests))
	}
	return fmt.Sprintf("%d of %d traps and %d of %d security items have a test; %d tests are cited",
		tested[false], trapCount, tested[true], securityCount, cited), wrong, nil
}
