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

// The codes that shells use for a missing command, and for one that cannot be run.
const (
	exitNotFound   = 127
	exitNotStarted = 126
)

// The environment variables of the command.
const (
	// The command can send the fence with its writes. Then the storage can refuse writes
	// of an earlier holder.
	fenceVariable = "INTERLOCK_FENCE"
	keyVariable   = "INTERLOCK_KEY"
)

// A child is a command that runs while a lock is held.
type child struct {
	path           string        // as found in PATH
	argv           []string      // as typed; the first is the command
	grace          time.Duration // the time between SIGTERM and SIGKILL
	stdout, stderr *os.File      // files, so that the command inherits the terminal

	environ func(context.Context) []string // further variables, by the context of the hold
}

// A childError reports a command that exited with a code other than 0, or did not start.
type childError struct {
	code int
	err  error // why it did not start; nil if it did start
}

// Error implements error.
func (e *childError) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	return fmt.Sprint("exit code ", e.code)
}

// Unwrap returns the error of a command that did not start.
func (e *childError) Unwrap() error { return e.err }

// A stoppedError reports a command that was stopped because its lock was lost.
type stoppedError struct {
	key string
	err error
}

// Error implements error.
func (e *stoppedError) Error() string { return e.err.Error() }

// Unwrap returns why the lock was lost.
func (e *stoppedError) Unwrap() error { return e.err }

// notFound returns the code of a command that was not found or is not executable.
func notFound(err error) int {
	if errors.Is(err, fs.ErrPermission) {
		return exitNotStarted
	}
	return exitNotFound
}

// run starts the command and waits for it. It forwards signals, and stops the command if
// the lock is lost.
func (c *child) run(held context.Context, hold *interlock.Hold, signals *signals) error {
	// CommandContext would kill the command at once; stop gives it time to clean up.
	cmd := exec.Command(c.path, c.argv[1:]...)
	cmd.Args[0] = c.argv[0] // some programs act on the name they are called by
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, c.stdout, c.stderr
	cmd.Env = append(os.Environ(), fenceVariable+"="+strconv.FormatUint(hold.Fence(), 10), keyVariable+"="+hold.Key())
	cmd.Env = append(cmd.Env, c.environ(held)...)
	g := newGroup(cmd)
	ended := make(chan error, 1) // buffered: after a failed start or a stop, nothing receives
	started := make(chan error)
	go supervise(cmd, started, ended) // ends with the command; waited for below
	if err := <-started; err != nil {
		return &childError{code: notFound(err), err: err}
	}
	// The command's group owns the terminal from its start on.
	defer g.restoreTerminal()
	lost := held.Done()
	for {
		select {
		case s := <-signals.c:
			g.pass(cmd.Process.Pid, s)
		case <-lost:
			c.stop(g, cmd.Process.Pid, ended)
			return &stoppedError{hold.Key(), context.Cause(held)}
		case err := <-ended:
			// The command may leave descendants behind, which must not outlive the lock.
			if held.Err() != nil { // it ended after the lock was lost
				c.stop(g, cmd.Process.Pid, nil)
				return &stoppedError{hold.Key(), context.Cause(held)}
			}
			return outcome(cmd, err)
		}
	}
}

// stop sends SIGTERM to the command's process group, and SIGKILL after grace. A nil
// ended means that the command itself has ended already.
func (c *child) stop(g group, pid int, ended <-chan error) {
	g.terminate(pid)
	timeout := time.NewTimer(c.grace)
	defer timeout.Stop()
	poll := time.NewTicker(20 * time.Millisecond) // the system does not notify of an empty group
	defer poll.Stop()
	for ended != nil || g.alive(pid) {
		select {
		case <-ended:
			ended = nil
		case <-poll.C:
		case <-timeout.C:
			g.kill(pid)
			if ended != nil {
				<-ended
			}
			return
		}
	}
}

// outcome converts the exit of a command into a childError, or nil.
func outcome(cmd *exec.Cmd, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	// Wait itself failed, so there is no exit code.
	case !errors.As(err, &exit):
		return err
	}
	return &childError{code: codeOf(cmd.ProcessState)}
}

// signals receives the signals that arrive while a command runs.
type signals struct{ c chan os.Signal }

// listen subscribes to the signals that cancel the wait for a lock and, later, go to the
// command.
func listen() *signals {
	// signal.Notify drops signals that do not fit into the channel. run reads them only
	// after the command has started.
	s := &signals{make(chan os.Signal, 16)}
	// This subscription also keeps a second Ctrl-C from killing exec before its command.
	signal.Notify(s.c, os.Interrupt, syscall.SIGTERM)
	return s
}

// stop unsubscribes.
func (s *signals) stop() { signal.Stop(s.c) }
