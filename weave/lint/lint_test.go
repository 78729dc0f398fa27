package lint_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave/lint"
)

// TestMain lets go vet use the test binary as its tool. So the analyzed packages import the
// library itself, not a copy of it.
func TestMain(m *testing.M) {
	if lint.ByVet(os.Args[1:]) {
		lint.Vet()
	}
	// With the race detector a program sleeps for a second before it exits, and the tests run
	// this one hundreds of times.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// Requirement T8: keys without an identifier, or longer than 64 characters, are reported.
func TestFindings(t *testing.T) {
	for _, name := range []string{"contexts", "directives", "holds", "keys", "results"} {
		t.Run(name, func(t *testing.T) {
			found := vet(t, "./testdata/"+name)
			for at, pattern := range wanted(t, filepath.Join("testdata", name, name+".go")) {
				if !regexp.MustCompile(pattern).MatchString(found[at]) {
					t.Errorf("%s: found %q, want %q", at, found[at], pattern)
				}
				delete(found, at)
			}
			for at, text := range found {
				t.Errorf("%s: found %q, want nothing", at, text)
			}
		})
	}
}

// Each analyzer has a flag of go vet that turns it off.
func TestEachAnalyzerCanBeTurnedOff(t *testing.T) {
	for name, flag := range map[string]string{"contexts": "-outerctx=false", "directives": "-apart=false", "holds": "-losthold=false", "keys": "-barekey=false", "results": "-outlives=false"} {
		if found := vet(t, flag, "./testdata/"+name); len(found) > 0 {
			t.Errorf("%s with %s: found %v, want nothing", name, flag, found)
		}
	}
}

func TestCalledByVet(t *testing.T) {
	for args, want := range map[string]bool{
		"":                           false,
		"-V=full":                    true,
		"-flags":                     true,
		"/tmp/b001/vet.cfg":          true,
		"-json -barekey=false x.cfg": true,
		"lint -flags":                false,
		"doctor vet.cfg":             false,
		"--help":                     false,
	} {
		if got := lint.ByVet(strings.Fields(args)); got != want {
			t.Errorf("ByVet(%q) = %v, want %v", args, got, want)
		}
	}
}

var finding = regexp.MustCompile(`(?m)^(?:vet: )?(?:\./)?(\S+\.go:\d+):\d+: (.*)$`)

// vet returns the findings of go vet with this program as its tool, by file and line.
func vet(t *testing.T, args ...string) map[string]string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"vet", "-vettool=" + self}, args...)...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // otherwise each of hundreds of packages takes a second longer
	out, err := cmd.CombinedOutput()
	found := map[string]string{}
	for _, m := range finding.FindAllStringSubmatch(string(out), -1) {
		if found[m[1]] != "" {
			t.Errorf("%s: a second finding on the same line: %s", m[1], m[2])
		}
		found[m[1]] = m[2]
	}
	if (err != nil) != (len(found) > 0) {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
	return found
}

var want = regexp.MustCompile("// want `(.*)`$") // also after a directive

func wanted(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if m := want.FindStringSubmatch(line); m != nil {
			all[fmt.Sprintf("%s:%d", file, i+1)] = m[1]
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no // want comment", file)
	}
	return all
}
