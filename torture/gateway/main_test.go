package gateway

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// command is the path of the interlock command, built once.
var command string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	command = filepath.Join(dir, "interlock")
	if out, err := exec.Command("go", "build", "-o", command, "github.com/interlock-go/interlock/cmd/interlock").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}
