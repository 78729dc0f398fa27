package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A state is the state of a law.
type state string

const (
	running state = "running"
	paused  state = "paused" // waits for parallel laws
	passed  state = "passed"
	failed  state = "failed"
	skipped state = "skipped"
)

// laws holds the states of the laws by name. The name is the path of the subtest in
// TestLaws.
type laws map[string]state

var (
	event  = regexp.MustCompile(`^\x16?=== (RUN|PAUSE|CONT) +TestLaws/(.+)$`)
	result = regexp.MustCompile(`^\x16? *--- (PASS|FAIL|SKIP): TestLaws/(.+) \([0-9.]+s\)$`)
	states = map[string]state{
		"RUN": running, "CONT": running, "PAUSE": paused, "PASS": passed, "FAIL": failed, "SKIP": skipped,
	}
)

// read returns the states of the laws from the output of the tests. A subtest that
// only groups others is not a law.
func read(out string) laws {
	found := make(laws)
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		m := event.FindStringSubmatch(line)
		if m == nil {
			m = result.FindStringSubmatch(line)
		}
		if m != nil {
			found[m[2]] = states[m[1]]
		}
	}
	found.dropGroups(slices.Collect(maps.Keys(found)))
	return found
}

// dropGroups removes the subtests that only group the subtests with the given names.
func (l laws) dropGroups(names []string) {
	for _, name := range names {
		for group := name; strings.Contains(group, "/"); {
			group = group[:strings.LastIndex(group, "/")]
			delete(l, group)
		}
	}
}

// having returns the laws with a state, sorted.
func (l laws) having(s state) (names []string) {
	for name, state := range l {
		if state == s {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// pattern returns a -run pattern that matches exactly these laws.
func pattern(names []string) string {
	var tests []string
	for _, name := range names {
		tests = append(tests, "TestLaws/"+name)
	}
	return patternOf(tests)
}

// patternOf returns a -run pattern that matches exactly these tests.
func patternOf(tests []string) string {
	var alternatives []string
	for _, test := range tests {
		parts := strings.Split(test, "/")
		for i, part := range parts {
			parts[i] = "^" + regexp.QuoteMeta(part) + "$"
		}
		alternatives = append(alternatives, strings.Join(parts, "/"))
	}
	return strings.Join(alternatives, "|")
}
