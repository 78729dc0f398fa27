package main

import (
	"os"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// The program prints what its comment says.
func TestOutput(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, comment, _ := strings.Cut(string(source), "// Output:\n//\n")
	comment, _, _ = strings.Cut(comment, "package main")
	want := strings.ReplaceAll(comment, "//\t", "")
	var got strings.Builder
	if err := run(t.Context(), redistest.Start(t).URL(), &got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("got:\n%swant:\n%s", got.String(), want)
	}
}
