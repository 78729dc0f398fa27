// Package redistest starts Redis servers for tests. Each server is a process on a free
// port of the loopback interface, and is killed when its test ends.
//
// A test that needs Redis fails if redis-server is not installed. Under -short, a
// test that needs replicas, a cluster or sentinels is skipped, unless the environment
// has INTERLOCK_VERIFY, as in make verify.
package redistest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// patience is how long a server may take to answer its first PING. A loaded
// machine with two cores has been seen to take three seconds.
const patience = 20 * time.Second

// A Server is a Redis that belongs to one test.
type Server struct {
	t    testing.TB
	port int
	dir  string
	args []string
	main string // host and port of the primary that a sentinel watches; empty for a server

	stepped bool          // the clock can be moved
	step    time.Duration // how far the clock was moved

	stopped atomic.Bool    // Stop was called, and Cont was not
	process *child.Process // nil before the first start
}

// Start runs redis-server with args until the test ends. The server saves nothing, so
// it is empty after a restart, unless args contain "--appendonly", "yes".
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t}
	s.start(args)
	return s
}

// start runs s on a free port, until the test ends.
func (s *Server) start(args []string) {
	t := s.t
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal("redis-server is not installed: apt-get install redis-server")
	}
	if s.main != "" || slices.Contains(args, "--replicaof") {
		child.SkipIfShort(t, "needs several servers")
	}
	s.dir = t.TempDir()
	for _, a := range args {
		if a == SteppedClock {
			s.stepped = true
		} else {
			s.args = append(s.args, a)
		}
	}
	if s.stepped {
		s.prepareClock()
	}
	t.Cleanup(s.end)
	for range 10 {
		var err error
		if s.port, err = child.FreePort(); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(args, "--cluster-enabled") {
			s.port = nodePort()
		}
		if err = s.run(); err == nil {
			return
		}
		if !errors.Is(err, errPortTaken) && !strings.Contains(s.process.Log(), "Address already in use") {
			t.Fatalf("redis-server did not start: %v\n%s", err, s.process.Log())
		}
	}
	t.Fatalf("no free port in ten tries\n%s", s.process.Log())
}

// Addr returns the server's host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the server's address as a redis:// URL.
func (s *Server) URL() string { return "redis://" + s.Addr() }

// Dir returns the directory in which the server keeps its files.
func (s *Server) Dir() string { return s.dir }

// Stop pauses the server process, with its connections open, until Cont.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	s.stopped.Store(true)
}

// Cont resumes a stopped server.
func (s *Server) Cont() {
	s.t.Helper()
	s.stopped.Store(false)
	s.signal(syscall.SIGCONT)
}

// Kill ends the server as a crash would and waits until it is gone.
func (s *Server) Kill() {
	s.t.Helper()
	s.signal(syscall.SIGKILL)
	<-s.process.Exited()
}

// Restart kills the server, if it still runs, and starts it again on the same
// port and in the same directory.
func (s *Server) Restart() {
	s.t.Helper()
	s.process.Kill()
	if err := s.run(); err != nil {
		s.t.Fatalf("redis-server did not start again: %v\n%s", err, s.process.Log())
	}
}

// run starts the process and waits until it answers.
func (s *Server) run() error {
	args, err := s.arguments()
	if err != nil {
		return err
	}
	s.stopped.Store(false)
	cmd := exec.Command("redis-server", args...)
	cmd.Env = append(os.Environ(), s.clock()...)
	if s.process, err = child.Start(cmd); err != nil {
		return err
	}
	return s.await()
}

// arguments returns the arguments of redis-server.
func (s *Server) arguments() ([]string, error) {
	if s.main != "" {
		return s.sentinelArguments()
	}
	return append([]string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", ""}, s.args...), nil
}

// await returns nil when the server answers, or an error that says why it does not.
func (s *Server) await() error {
	for end := time.Now().Add(patience); ; {
		reply, err := s.Do("PING")
		if err == nil && reply == "PONG" {
			return s.checkProcess()
		}
		select {
		case <-s.process.Exited():
			return errors.New("the process exited")
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(end) {
			s.Kill()
			return fmt.Errorf("no PONG in %v: the last reply to PING is %q, error %w", patience, reply, err)
		}
	}
}

var errPortTaken = errors.New("another server has the port")

// checkProcess makes sure that the server that answered is the child process of this
// test: two tests may have got the same free port.
func (s *Server) checkProcess() error {
	reply, err := s.Do("INFO", "server")
	if err == nil && strings.Contains(reply, fmt.Sprintf("\nprocess_id:%d\r", s.process.Pid())) {
		return nil
	}
	// If the other server has ended meanwhile, this one runs on. Kill it.
	s.process.Kill()
	return fmt.Errorf("%w: port %d", errPortTaken, s.port)
}

// answers reports whether the server is running and not stopped.
func (s *Server) answers() bool { return s.process.Running() && !s.stopped.Load() }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.process.Signal(sig); err != nil {
		s.t.Fatalf("signal %v to redis-server: %v", sig, err)
	}
}

// end kills the server, and prints its log if the test failed.
func (s *Server) end() {
	s.process.Kill()
	if s.t.Failed() && s.process != nil {
		s.t.Logf("log of redis-server on %s:\n%s", s.Addr(), s.process.Log())
	}
}

// nodePort returns a port for a node of a cluster. The node also listens 10000 ports above
// it: Redis 6 has no option for that. Both ports are below those that systems give to
// clients, so that no connection takes one while the node is down.
func nodePort() int { return 10000 + rand.IntN(12768) }

// Version returns the version of the redis-server that [Start] runs. For Valkey it
// begins with the name, as in "valkey 9.1.2".
func Version(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("redis-server", "--version").Output()
	if err != nil {
		t.Fatalf("redis-server is not installed: apt-get install redis-server: %v", err)
	}
	_, after, _ := strings.Cut(string(out), "v=")
	version, _, _ := strings.Cut(after, " ")
	if strings.HasPrefix(string(out), "Valkey") {
		version = "valkey " + version
	}
	return version
}

// Needs7 skips a test on Redis 6, which has no sharded channels.
func Needs7(t testing.TB) {
	t.Helper()
	if v := Version(t); strings.HasPrefix(v, "6.") {
		t.Skipf("needs Redis 7, and this is %s", v)
	}
}
