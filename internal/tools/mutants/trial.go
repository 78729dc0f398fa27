package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A trial runs the laws on one mutant.
type trial struct {
	mutant  mutant
	at      int // the offset of its old text; zero if the text is unique
	root    string
	dir     string
	pkg     string
	tmp     string // a temporary directory for this trial
	timeout time.Duration
	tests   []string // the tests to run, in a set without laws
}

// An outcome lists the laws that passed and failed.
type outcome struct{ passed, failed []string }

// run compiles the tests with the mutant once and runs them. If a law crashes the process,
// run starts the process again for the remaining laws.
func (t trial) run(ctx context.Context) (outcome, error) {
	if err := t.compile(ctx); err != nil {
		return outcome{}, err
	}
	defer func() { _ = os.RemoveAll(t.tmp) }()
	if len(t.tests) > 0 {
		return t.runTests(ctx)
	}
	o := outcome{}
	for again := true; ; {
		done := slices.Concat(o.passed, o.failed)
		laws, crashed, err := t.laws(ctx, "-test.run=^TestLaws$", "-test.skip="+pattern(done))
		if err != nil {
			return outcome{}, err
		}
		laws.dropGroups(done)
		o.passed = append(o.passed, laws.having(passed)...)
		o.failed = append(o.failed, laws.having(failed)...)
		if !crashed {
			return o, nil
		}
		if len(laws.having(running)) == 0 && len(laws.having(failed)) > 0 {
			continue // a law that panics is reported as failed, and ends the process
		}
		culprits, err := t.culprits(ctx, laws.having(running))
		if errors.Is(err, errNoCulprit) && again { // on a busy machine, a run may time out although no law is at fault
			again = false
			continue
		}
		if err != nil {
			return outcome{}, err
		}
		o.failed = append(o.failed, culprits...)
	}
}

var errNoCulprit = errors.New("the tests crash, but no law crashes alone: run the tests with the mutant by hand")

// culprits returns the suspects that crash the process. The suspects are the laws that were
// running at the crash. Each is run alone, unless there is only one.
func (t trial) culprits(ctx context.Context, suspects []string) (guilty []string, _ error) {
	if len(suspects) == 1 {
		return suspects, nil
	}
	for _, law := range suspects {
		laws, crashed, err := t.laws(ctx, "-test.run="+pattern([]string{law}))
		if err != nil {
			return nil, err
		}
		if crashed || laws[law] == failed {
			guilty = append(guilty, law)
		}
	}
	if len(guilty) == 0 {
		return nil, errNoCulprit
	}
	return guilty, nil
}

// failedExit is the exit code of failed tests. After a panic the code differs.
const failedExit = 1

// laws runs the tests. It reports crashed if the process ended early, so that some laws may
// not have run.
func (t trial) laws(ctx context.Context, flags ...string) (laws laws, crashed bool, _ error) {
	flags = append(flags, "-test.v=test2json", "-test.timeout="+t.timeout.String())
	cmd := exec.CommandContext(ctx, filepath.Join(t.tmp, "laws.test"), flags...)
	cmd.Dir = filepath.Join(t.dir, t.pkg)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	laws = read(string(out))
	if len(laws) == 0 && (err != nil || slices.Contains(flags, "-test.skip=")) {
		return nil, false, fmt.Errorf("TestLaws ran no laws: %w\n%s", err, out)
	}
	var exit *exec.ExitError
	crashed = errors.As(err, &exit) && exit.ExitCode() != failedExit || len(laws.having(running)) > 0
	return laws, crashed, nil
}

// compile builds the test binary with the mutant as an overlay.
func (t trial) compile(ctx context.Context) error {
	if err := os.Mkdir(t.tmp, 0o755); err != nil {
		return err
	}
	args := []string{"test", "-c", "-o", filepath.Join(t.tmp, "laws.test")}
	if t.mutant.file != "" {
		overlay, err := t.overlay()
		if err != nil {
			return err
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, t.pkg)...)
	cmd.Dir = t.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %w\n%s", errInvalid, err, out)
	}
	return nil
}

// errInvalid reports a mutant that does not compile.
var errInvalid = errors.New("the mutant does not compile")

// overlay writes the changed file and the overlay that replaces the original.
func (t trial) overlay() (string, error) {
	path := filepath.Join(t.root, t.mutant.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	at := t.at
	if n := strings.Count(string(text), t.mutant.old); at == 0 && n != 1 {
		return "", fmt.Errorf("%w: its old text occurs %d times in %s, want once:\n%s",
			errInvalid, n, t.mutant.file, t.mutant.old)
	}
	if at == 0 {
		at = strings.Index(string(text), t.mutant.old)
	}
	changed := filepath.Join(t.tmp, filepath.Base(path))
	err = os.WriteFile(changed, slices.Concat(text[:at], []byte(t.mutant.new), text[at+len(t.mutant.old):]), 0o644)
	if err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(t.tmp, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o644)
}
