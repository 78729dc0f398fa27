// Package child runs servers as child processes of tests, and of programs that measure them.
package child

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// A Process is a running or ended child process. A nil Process has never run.
type Process struct {
	cmd    *exec.Cmd
	stdin  io.Closer // only of a process of Self
	log    log
	exited chan struct{} // closed when cmd has been waited for
}

// Start runs cmd and collects its output. On Linux the process dies with the test binary, even
// if the binary is killed. Elsewhere it keeps running in that case.
func Start(cmd *exec.Cmd) (*Process, error) { return start(cmd, nil) }

// StartAs is Start for a server that refuses to run as root. If root runs the tests, the server
// runs as the named user, or as nobody if there is no such user.
func StartAs(name string, cmd *exec.Cmd) (*Process, error) {
	account, err := accountOf(name)
	if err != nil {
		return nil, err
	}
	return start(cmd, account)
}

func start(cmd *exec.Cmd, account *syscall.Credential) (*Process, error) {
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	cmd.SysProcAttr = attributes(account)
	started := make(chan error)
	go p.supervise(started) // ends with the process, which Kill kills and waits for
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// supervise starts the process and waits for it. Linux kills the process when the thread that
// started it ends, so this goroutine keeps its thread.
func (p *Process) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	_ = p.cmd.Wait()
	close(p.exited)
}

// Exited returns a channel that is closed when the process has ended and its log is complete.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Kill kills the process and waits until it has ended. It does nothing if the process is not
// running.
func (p *Process) Kill() {
	if p.Running() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// Signal sends a signal, and waits until SIGSTOP has taken effect. The error is
// [os.ErrProcessDone] if the process is not running.
func (p *Process) Signal(sig os.Signal) error {
	switch {
	case p == nil:
		return os.ErrProcessDone
	case sig == syscall.SIGSTOP && p.Running():
		return Stop(p.Pid())
	}
	return p.cmd.Process.Signal(sig)
}

// Pid returns the process's number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Log returns the output so far.
func (p *Process) Log() string {
	if p == nil {
		return ""
	}
	return p.log.String()
}

// A log may be read while the process writes to it.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
