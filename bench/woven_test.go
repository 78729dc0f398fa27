package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

var update = flag.Bool("update", false, "write what the weaver makes to ejected.go")

// The measured code is the output of the current weaver.
func TestWhatIsMeasuredIsWoven(t *testing.T) {
	text, err := weave.Eject("testdata/payment.go")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("ejected.go", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile("ejected.go")
	if err != nil || !bytes.Equal(is, text) {
		t.Errorf("ejected.go is not what the weaver makes of testdata/payment.go: run go test -run Woven -update . in bench; %v", err)
	}
}

// P8: what a directive costs is measured in one run with what people write by hand.
func TestWovenCallsAreComparedWithThoseByHand(t *testing.T) {
	var out bytes.Buffer
	if err := bench(t.Context(), []string{"-short", "-parts", "woven"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"| " + wovenRow + " |", "| " + keptRow + " |", "within 50 ns of one by hand", "allocates no more than one by hand", "an overlay for 1000 files in under 500ms"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
