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
)

// test returns the trial of one mutant in a set without laws.
func (s set) test(root, tmp string, m mutant) trial {
	pkg, test, _ := strings.Cut(s.tests[m.name], ".")
	return trial{
		mutant: m, root: root, dir: root, pkg: "./" + pkg, timeout: s.timeout,
		tmp: filepath.Join(tmp, m.name), tests: []string{test},
	}
}

// soundTests runs the tests of all mutants on the unchanged source, by package.
func (s set) soundTests(ctx context.Context, root, tmp string) (all outcome, _ error) {
	testsOf := map[string][]string{}
	for _, m := range s.mutants {
		pkg, test, _ := strings.Cut(s.tests[m.name], ".")
		if !slices.Contains(testsOf[pkg], test) {
			testsOf[pkg] = append(testsOf[pkg], test)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(testsOf)) {
		t := trial{mutant: mutant{name: "none"}, root: root, dir: root, pkg: "./" + pkg, timeout: s.timeout, tests: testsOf[pkg]}
		t.tmp = filepath.Join(tmp, "none-"+strings.ReplaceAll(pkg, "/", "-"))
		o, err := t.run(ctx)
		if err != nil {
			return outcome{}, err
		}
		all.passed, all.failed = append(all.passed, o.passed...), append(all.failed, o.failed...)
	}
	return all, nil
}

// ended matches the result of a test or of a law.
var ended = regexp.MustCompile(`(?m)^\x16? *--- (PASS|FAIL): (\S+) \(`)

// runTests returns which tests passed and failed. A test that began but did not end has
// crashed or hung, and counts as failed.
func (t trial) runTests(ctx context.Context) (o outcome, _ error) {
	cmd := exec.CommandContext(ctx, filepath.Join(t.tmp, "laws.test"), "-test.v=test2json", "-test.short",
		"-test.timeout="+t.timeout.String(), "-test.run="+patternOf(t.tests))
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
		test = strings.ReplaceAll(test, " ", "_") // as in the output
		name := t.pkg[len("./"):] + "." + test
		switch {
		case results[test] == "PASS":
			o.passed = append(o.passed, name)
		case !strings.Contains(string(out), "=== RUN   "+test+"\n"):
			return outcome{}, fmt.Errorf("test %s does not exist or was skipped: %w\n%s", name, err, out)
		default:
			o.failed = append(o.failed, name)
		}
	}
	return o, nil
}
