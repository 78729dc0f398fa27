package observe

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each threshold of the requirements has two tests in deploy/prometheus/tests: one fires
// above the threshold, and one is silent exactly at it. promtool can run the tests of one
// requirement by name, and each subtest here does so.
func TestObserveThresholds(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	for id, alerts := range map[string][]string{
		"L8":  {"InterlockReleaseFailuresHigh", "InterlockHoldTimeCritical", "InterlockHoldersHigh"},
		"S7":  {"InterlockDuplicatesHigh", "InterlockEngineFailuresHigh", "InterlockGuardResponseSlow", "InterlockScriptErrors"},
		"T12": {"InterlockLockFailures", "InterlockHoldTimeHigh", "InterlockWaitTimeHigh"},
	} {
		for _, alert := range alerts {
			t.Run(id+"/"+alert, func(t *testing.T) {
				if fires, silent := promtool(t, "^'"+alert+", "+id+": "); fires == 0 || silent == 0 {
					t.Errorf("%d tests fire and %d are silent, want both", fires, silent)
				}
			})
		}
	}
	t.Run("T12/the metrics of Redisson dashboards", func(t *testing.T) { promtool(t, "^'T12: ") })
	t.Run("the other alerts", func(t *testing.T) {
		if fires, silent := promtool(t, "^'[A-Za-z]+, [^A-Z]"); fires < 12 || silent < 12 {
			t.Errorf("%d tests fire and %d are silent, want one of each for 12 alerts", fires, silent)
		}
	})
}

// promtool runs the tests with matching names, and counts those that fire and those that
// do not. A run without tests fails.
func promtool(t *testing.T, pattern string) (fires, silent int) {
	files, err := filepath.Glob(filepath.Join(deploy, "prometheus/tests/*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	dir, name := t.TempDir(), regexp.MustCompile(pattern)
	if err := os.Mkdir(filepath.Join(dir, "tests"), 0o700); err != nil {
		t.Fatal(err)
	}
	edited(t, dir, "prometheus/interlock.rules.yml")
	edited(t, dir, "prometheus/legacy-redisson.rules.yml")
	args := []string{"test", "rules"}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(text), "  - name: ")
		kept := parts[:1]
		for _, part := range parts[1:] {
			if line, _, _ := strings.Cut(part, "\n"); name.MatchString(line) {
				kept = append(kept, part)
				fires += strings.Count(line, ": fires'")
				silent += strings.Count(line, ": silent'")
			}
		}
		if len(kept) == 1 {
			continue
		}
		path := filepath.Join(dir, "tests", filepath.Base(file))
		if err := os.WriteFile(path, []byte(strings.Join(kept, "  - name: ")), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	if len(args) == 2 {
		t.Fatal("no test matches")
	}
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return fires, silent
}

func TestObserveFilesAreValid(t *testing.T) {
	for _, check := range []string{
		"promtool check config prometheus/prometheus.yml", // with its rules
		"amtool check-config alertmanager/alertmanager.yml",
	} {
		t.Run(check, func(t *testing.T) {
			words := strings.Fields(check)
			if _, err := exec.LookPath(words[0]); err != nil {
				t.Skipf("%s is not installed: apt-get install prometheus prometheus-alertmanager", words[0])
			}
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Dir = deploy
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// Every alert has a severity, texts in both languages, a runbook in both languages, a test
// that fires and a test that does not.
func TestObserveAlerts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(deploy, "prometheus/interlock.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	files, _ := filepath.Glob(filepath.Join(deploy, "prometheus/tests/*.yml"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	alerts := strings.Split(string(text), "- alert: ")[1:]
	if len(alerts) != 22 {
		t.Errorf("found %d alerts, want 22", len(alerts))
	}
	for _, alert := range alerts {
		name, body, _ := strings.Cut(alert, "\n")
		for _, want := range []string{"severity: (critical|warning)\n", "summary: '", "description: '", "summary_zh: '[^\n]*\\p{Han}", "runbook_url: docs/runbooks/" + name + ".md\n"} {
			if !regexp.MustCompile(want).MatchString(body) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		for _, end := range []string{".md", ".zh-CN.md"} {
			if _, err := os.Stat(filepath.Join("../../docs/runbooks", name+end)); err != nil {
				t.Error(err)
			}
		}
		for _, end := range []string{"fires", "silent"} {
			if !regexp.MustCompile("name: '" + name + ", .*: " + end + "'").MatchString(tests.String()) {
				t.Errorf("%s has no test that is named %s", name, end)
			}
		}
	}
}
