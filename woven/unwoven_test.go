package woven_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// This tests the package named on. A test in that package could not start without weaving.
func TestAnUnwovenProgramDoesNotStart(t *testing.T) {
	program := filepath.Join(t.TempDir(), "unwoven.exe")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/unwoven").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for value, want := range map[string]struct {
		status      int
		out, errOut string
	}{
		"":      {78, "", "interlock: a package in this binary has //interlock: directives but was compiled without weaving; it would run without its locks.\n\tbuild with: go tool interlock go build"},
		"yes":   {78, "", "set INTERLOCK_UNWOVEN=allow to run it anyway\n"},
		"allow": {0, "hello without a lock\n", ""},
	} {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "INTERLOCK_UNWOVEN="+value)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != want.status || out.String() != want.out || !strings.Contains(errOut.String(), want.errOut) {
			t.Errorf("INTERLOCK_UNWOVEN=%q: exit status %d, stdout %q, stderr %q; want %+v", value, got, out.String(), errOut.String(), want)
		}
	}
}
