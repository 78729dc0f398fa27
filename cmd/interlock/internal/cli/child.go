package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/interlock-go/interlock"
)

// What a shell returns if there is no such command, or it cannot be run.
const (
	exitNotFound   = 127
	exitNotStarted = 126
)

// What the command is told, in its environment.
const (
	fenceVariable = "INTERLOCK_FENCE"
	keyVariable   = "INTERLOCK_KEY"
)

// A child is a command that runs while a lock is held.
type child struct {
	path           string
	argv           []string
	grace          time.Duration // between asking it to end and ending it
	stdout, stderr *os.File
}

// A childError is a command that ended with another code than 0, or did not start.
type childError struct {
	code int
	err  error // why it did not start; nil if it did
}

// Error implements error.
func (e *childError) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	return fmt.Sprint("exit code ", e.code)
}

// Unwrap returns why it did not start.
func (e *childError) Unwrap() error { return e.err }

// A stoppedError is a command that was stopped, since its lock was lost.
type stoppedError struct {
	key string
	err error
}

// Error implements error.
func (e *stoppedError) Error() string { return e.err.Error() }

// Unwrap returns how the lock was lost.
func (e *stoppedError) Unwrap() error { return e.err }

// notFound is the code for a command that cannot be found, or not be run.
func notFound(err error) int {
	if errors.Is(err, fs.ErrPermission) {
		return exitNotStarted
	}
	return exitNotFound
}

// run starts the command and waits for it. Signals are passed on to it, and it is
// stopped if the lock is lost.
func (c *child) run(held context.Context, hold *interlock.Hold, signals *signals) error {
	cmd := exec.Command(c.path, c.argv[1:]...)
	cmd.Args[0] = c.argv[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, c.stdout, c.stderr
	cmd.Env = append(os.Environ(), fenceVariable+"="+strconv.FormatUint(hold.Fence(), 10), keyVariable+"="+hold.Key())
	g := apart(cmd)
	ended := make(chan error, 1)
	started := make(chan error)
	go supervise(cmd, started, ended) // ends with the command, which is waited for below
	if err := <-started; err != nil {
		return &childError{code: notFound(err), err: err}
	}
	defer g.back()
	lost := held.Done()
	for {
		select {
		case s := <-signals.c:
			g.pass(cmd.Process.Pid, s)
		case <-lost:
			c.stop(g, cmd.Process.Pid, ended)
			return &stoppedError{hold.Key(), context.Cause(held)}
		case err := <-ended:
			if held.Err() != nil { // it ended by itself, and too late
				c.stop(g, cmd.Process.Pid, nil)
				return &stoppedError{hold.Key(), context.Cause(held)}
			}
			return outcome(cmd, err)
		}
	}
}

// stop asks the command and all it has started to end, and ends them if they do
// not. A nil ended means that the command itself has ended.
func (c *child) stop(g group, pid int, ended <-chan error) {
	g.terminate(pid)
	over := time.NewTimer(c.grace)
	defer over.Stop()
	look := time.NewTicker(20 * time.Millisecond) // nobody tells when a group is empty
	defer look.Stop()
	for ended != nil || g.alive(pid) {
		select {
		case <-ended:
			ended = nil
		case <-look.C:
		case <-over.C:
			g.kill(pid)
			if ended != nil {
				<-ended
			}
			return
		}
	}
}

// outcome makes an error of how a command has ended: with its code, or as shells
// count signals.
func outcome(cmd *exec.Cmd, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		return err
	}
	return &childError{code: codeOf(cmd.ProcessState)}
}

// signals are those that arrive while a command runs.
type signals struct{ c chan os.Signal }

// listen takes over the signals that end the wait for a lock, or later the command.
func listen() *signals {
	s := &signals{make(chan os.Signal, 16)}
	signal.Notify(s.c, os.Interrupt, syscall.SIGTERM)
	return s
}

// stop leaves signals to others again.
func (s *signals) stop() { signal.Stop(s.c) }
