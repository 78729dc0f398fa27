package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A notice is a test, and the mutants that it must notice.
type notice struct {
	test    string // with its package, such as rule.TestMistakes
	mutants []mutant
}

// tested makes a set of mutants of which each breaks a test of its own. Only that
// one is run: it is there for the bug, and others may take long.
func tested(name string, timeout time.Duration, notices []notice) set {
	s := set{name: name, dir: ".", timeout: timeout, tests: map[string]string{}}
	for _, n := range notices {
		for _, m := range n.mutants {
			s.mutants = append(s.mutants, m)
			s.tests[m.name] = n.test
		}
	}
	return s
}

// test is the trial of one mutant.
func (s set) test(root, tmp string, m mutant) trial {
	pkg, test, _ := strings.Cut(s.tests[m.name], ".")
	return trial{
		mutant: m, root: root, dir: root, pkg: "./" + pkg, timeout: s.timeout,
		tmp: filepath.Join(tmp, m.name), tests: []string{test},
	}
}

// soundTests runs the tests of all mutants, a package at a time.
func (s set) soundTests(ctx context.Context, root, tmp string) (all outcome, _ error) {
	of := map[string][]string{}
	for _, m := range s.mutants {
		pkg, test, _ := strings.Cut(s.tests[m.name], ".")
		if !slices.Contains(of[pkg], test) {
			of[pkg] = append(of[pkg], test)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(of)) {
		t := trial{mutant: mutant{name: "none"}, root: root, dir: root, pkg: "./" + pkg, timeout: s.timeout, tests: of[pkg]}
		t.tmp = filepath.Join(tmp, "none-"+strings.ReplaceAll(pkg, "/", "-"))
		o, err := t.run(ctx)
		if err != nil {
			return outcome{}, err
		}
		all.passed, all.failed = append(all.passed, o.passed...), append(all.failed, o.failed...)
	}
	return all, nil
}

// ended finds how a test ended that is no part of another.
var ended = regexp.MustCompile(`(?m)^\x16?--- (PASS|FAIL): (\w+) `)

// runTests tells which of the tests failed. One that brings the others down, or
// does not end, is the one that had begun and not ended.
func (t trial) runTests(ctx context.Context) (o outcome, _ error) {
	cmd := exec.CommandContext(ctx, filepath.Join(t.tmp, "laws.test"), "-test.v=test2json", "-test.short",
		"-test.timeout="+t.timeout.String(), "-test.run=^("+strings.Join(t.tests, "|")+")$")
	cmd.Dir = filepath.Join(t.dir, t.pkg)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	results := map[string]string{}
	for _, m := range ended.FindAllSubmatch(out, -1) {
		results[string(m[2])] = string(m[1])
	}
	for _, test := range t.tests {
		name := t.pkg[len("./"):] + "." + test
		switch {
		case results[test] == "PASS":
			o.passed = append(o.passed, name)
		case !strings.Contains(string(out), "=== RUN   "+test+"\n"):
			return outcome{}, fmt.Errorf("there is no test %s, or it is skipped: %w\n%s", name, err, out)
		default:
			o.failed = append(o.failed, name)
		}
	}
	return o, nil
}
