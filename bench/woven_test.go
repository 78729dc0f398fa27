package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

var update = flag.Bool("update", false, "write the output of the weaver to ejected.go")

// TestEjectedIsCurrent checks that the measured code is the output of the current weaver.
func TestEjectedIsCurrent(t *testing.T) {
	text, err := weave.Eject("testdata/payment.go")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("ejected.go", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile("ejected.go")
	if err != nil || !bytes.Equal(content, text) {
		t.Errorf("ejected.go is not the output of the weaver for testdata/payment.go: run go test -run Ejected -update . in bench; %v", err)
	}
}

// Requirement P8: woven and hand-written calls are measured alternately in one run.
func TestWovenCallsAreComparedWithHandWrittenOnes(t *testing.T) {
	var out bytes.Buffer
	if err := bench(t.Context(), []string{"-short", "-parts", "woven"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"| " + wovenRow + " |", "| " + keptRow + " |", "takes at most 50 ns more than a hand-written one", "allocates no more than a hand-written one", "an overlay of 1000 files takes less than 500ms"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
