package examples_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// The programs that serve HTTP answer the curl lines in their comments as these say.
func TestHTTP(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("curl is not installed")
	}
	for _, name := range []string{"nethttp", "chi", "gin", "echo", "fiber", "hertz", "gozero"} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, name)
			steps := session(t, filepath.Join(name, "main.go"))
			if len(steps) == 0 {
				t.Fatal("the comment has no lines with curl")
			}
			for _, s := range steps {
				command := strings.ReplaceAll(s.command, "localhost:8080", address)
				got, err := exec.Command("sh", "-c", command).CombinedOutput()
				if text := strings.TrimSpace(string(got)); err != nil || text != s.output {
					t.Errorf("$ %s\ngot  %s (%v)\nwant %s", command, text, err, s.output)
				}
			}
		})
	}
}

// A step is one command and what it prints.
type step struct{ command, output string }

// session returns the commands in the comment of a program.
func session(t *testing.T, file string) (steps []step) {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(source)) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "//\t")
		if !ok {
			continue
		}
		if command, ok := strings.CutPrefix(text, "$ "); ok {
			steps = append(steps, step{command: command})
		} else if len(steps) > 0 {
			steps[len(steps)-1].output += text
		}
	}
	return steps
}

// serve builds and starts a program, and returns its address. It ends with the test, as with
// Ctrl-C.
func serve(t *testing.T, name string) string {
	program := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-o", program, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	port, err := child.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	cmd := exec.Command(program, "-listen", address)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		for lines.Scan() { // until it has ended
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: after an interrupt: %v", name, err)
		}
	})
	if !lines.Scan() || lines.Text() != "listening on http://"+address {
		t.Fatalf("%s: got %q", name, lines.Text())
	}
	for { // some frameworks listen only after that line
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return address
		}
		time.Sleep(10 * time.Millisecond)
	}
}
