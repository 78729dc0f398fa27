package child_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// parentVariable makes the test binary a program that starts a child and waits to be killed.
const parentVariable = "INTERLOCK_CHILD_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		parent()
	}
	os.Exit(m.Run())
}

// parent starts a program that reads standard input to its end and has file 3 open. It ends with
// its standard input too, in case the test dies before it kills it. Nothing is written there.
func parent() {
	cmd := exec.Command("cat")
	cmd.Stdin, cmd.ExtraFiles = os.Stdin, []*os.File{os.NewFile(3, "alive")}
	_, err := child.Start(cmd)
	fmt.Println("started:", err)
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

func TestAProcessDiesWithAKilledTestBinary(t *testing.T) {
	t.Parallel()
	stdin, held := pipe(t) // ends the parent and the program after the test in any case
	defer held.Close()
	alive, inherited := pipe(t)
	binary := exec.Command(os.Args[0])
	binary.Env = append(os.Environ(), parentVariable+"=yes")
	binary.Stdin, binary.ExtraFiles = stdin, []*os.File{inherited}
	stdout, err := binary.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := binary.Start(); err != nil {
		t.Fatal(err)
	}
	inherited.Close()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line != "started: <nil>\n" {
		t.Errorf("the test binary printed %q, %v", line, err)
	}
	_ = binary.Process.Kill()
	_ = binary.Wait()
	// The read ends when no process has the other end open.
	_ = alive.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := alive.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after a minute: %v, want that the process has ended", err)
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, w
}
