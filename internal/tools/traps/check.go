package main

import "fmt"

const (
	traps = 80 // how many there are
	least = 65 // of them, how many have a test
)

// items are how many of the security list are about what there is so far, from the
// first on.
const items = 35

// check returns what the rows say in numbers, and a line for each thing that is
// wrong with them.
func check(rows []row, ts tests) (n count, wrong []string) {
	type place struct {
		security bool
		number   int
	}
	seen := make(map[place]bool)
	for _, r := range rows {
		at := place{r.security, r.number}
		if seen[at] {
			wrong = append(wrong, fmt.Sprintf("%v: is there twice", r))
		}
		seen[at] = true
		n.add(r)
		if len(r.tests) == 0 && !r.reason {
			wrong = append(wrong, fmt.Sprintf("%v: has neither a test nor a reason", r))
		}
		for _, t := range r.tests {
			if why := ts.missing(t); why != "" {
				wrong = append(wrong, fmt.Sprintf("%v: %s", r, why))
			}
		}
	}
	for i := 1; i <= traps; i++ {
		if !seen[place{false, i}] {
			wrong = append(wrong, fmt.Sprintf("%s: trap %d is left out", list, i))
		}
	}
	for i := 1; i <= items; i++ {
		if !seen[place{true, i}] {
			wrong = append(wrong, fmt.Sprintf("%s: security item %d is left out", list, i))
		}
	}
	if n.tested < least {
		wrong = append(wrong, fmt.Sprintf("%s: %d traps have a test, want %d at least", list, n.tested, least))
	}
	return n, wrong
}

func (n *count) add(r row) {
	total, tested := &n.traps, &n.tested
	if r.security {
		total, tested = &n.items, &n.itemsTested
	}
	*total++
	if len(r.tests) > 0 {
		*tested++
	}
	n.tests += len(r.tests)
}
