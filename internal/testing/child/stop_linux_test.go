package child_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestAStoppedProcessDoesNotRun(t *testing.T) {
	t.Parallel()
	p := start(t, "sh", "-c", "while :; do :; done")
	for range 100 {
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
		if err != nil || !strings.Contains(string(stat), ") T ") {
			t.Fatalf("the process is %s, %v; want it stopped", stat, err)
		}
		if err := p.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
}
