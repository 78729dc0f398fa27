package examples_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// The woven program prints what its comment says, and the program without directives does not
// start.
func TestDirectives(t *testing.T) {
	source, err := os.ReadFile("directives/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, comment, _ := strings.Cut(string(source), "Output:\n//\n")
	comment, _, _ = strings.Cut(comment, "package main")
	want := strings.ReplaceAll(comment, "//\t", "")

	program := filepath.Join(t.TempDir(), "directives")
	args, err := weave.Go(t.Context(), ".", "", []string{"build", "-o", program, "./directives"})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program)
	cmd.Stderr = os.Stderr
	got, err := cmd.Output()
	if err != nil || string(got) != want {
		t.Errorf("got\n%s(%v)\nwant\n%s", got, err, want)
	}

	if out, err := exec.Command("go", "build", "-o", program, "./directives").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program).CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 78 {
		t.Errorf("without weaving: %v, want exit status 78\n%s", err, out)
	}
}
