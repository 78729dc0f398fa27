package child

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Self starts the test binary once more, with variables in its environment that say what it
// does there. [Process.End] ends the standard input of the process. When the test ends, the
// process is killed, and its output is logged if the test has failed.
func Self(t testing.TB, args []string, variables ...string) *Process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), variables...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	t.Cleanup(func() {
		p.Kill()
		if log := p.Log(); t.Failed() && log != "" {
			t.Logf("output of process %d:\n%s", p.Pid(), log)
		}
	})
	return p
}

// End closes the standard input of a process that [Self] started, and waits until the process
// has ended. If it failed, the error has its output.
func (p *Process) End() error {
	_ = p.stdin.Close() // an error says that the process has ended
	<-p.exited
	if state := p.cmd.ProcessState; !state.Success() {
		return fmt.Errorf("process %d: %v\n%s", p.Pid(), state, p.Log())
	}
	return nil
}
