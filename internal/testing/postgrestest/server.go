// Package postgrestest starts PostgreSQL servers for tests. Each server is a process on a
// free port of the loopback interface, with its files in a temporary directory. It syncs
// nothing to disk, but survives Kill: the operating system keeps what was written. The
// arguments "-c", "fsync=on" let it sync.
//
// A test that needs PostgreSQL fails if it is not installed. Under -short, a test that needs
// a replica or a pooler is skipped, unless the environment has INTERLOCK_VERIFY, as in make
// verify.
package postgrestest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// patience is how long a server may take to start or to answer. Recovery on a loaded machine
// takes seconds.
const patience = 60 * time.Second

// account is the user of the system that runs the servers: PostgreSQL refuses to run as root.
const account = "postgres"

// A Server is a PostgreSQL server.
type Server struct {
	port int
	dir  string
	args []string

	process *child.Process // nil before the first start
}

// StartServer runs a server of its own until the test ends. args are arguments of postgres,
// such as "-c", "max_connections=10".
func StartServer(t testing.TB, args ...string) *Server {
	t.Helper()
	s, err := newServer(args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.end()
		if t.Failed() {
			t.Logf("log of postgres on %s:\n%s", s.Addr(), s.process.Log())
		}
	})
	return s
}

// Shared runs a server until stop is called, for programs that are not tests. args are
// arguments of postgres. The error is an [ErrMissing] if PostgreSQL is not installed.
func Shared(args ...string) (s *Server, stop func(), _ error) {
	s, err := newServer(args)
	if err != nil {
		return nil, nil, err
	}
	return s, s.end, nil
}

// ErrMissing says that a program of PostgreSQL is not installed.
var ErrMissing = errors.New("not installed: apt-get install postgresql")

// SkipIfShort skips a test under -short.
func SkipIfShort(t testing.TB) {
	t.Helper()
	child.SkipIfShort(t, "takes long")
}

// newServer creates the files of a server and starts it.
func newServer(args []string) (*Server, error) {
	if _, err := program("postgres"); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "interlock-postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, args: args}
	if err := s.create(); err != nil {
		s.end()
		return nil, err
	}
	for range 10 {
		if s.port, err = child.FreePort(); err != nil {
			break
		}
		if err = s.run(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		s.end()
		return nil, fmt.Errorf("postgres did not start: %w\n%s", err, s.process.Log())
	}
	return s, nil
}

// create creates the files.
func (s *Server) create() error {
	initdb, err := program("initdb")
	if err != nil {
		return err
	}
	return child.RunAs(account, s.dir, initdb, "--pgdata", s.dir, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--no-locale", "--no-sync")
}

// program returns the path of a program of PostgreSQL. Debian keeps most of them out of PATH.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", fmt.Errorf("%s is %w", name, ErrMissing)
	}
	return found[len(found)-1], nil
}

// Addr returns the server's host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the URL of a database of the server. Its user is the superuser.
func (s *Server) URL(database string) string {
	return "postgres://postgres@" + s.Addr() + "/" + database + "?sslmode=disable"
}

// Dir returns the directory in which the server keeps its files.
func (s *Server) Dir() string { return s.dir }

// Stop pauses all processes of the server, with their connections open, until Cont.
func (s *Server) Stop(t testing.TB) { s.signalAll(t, syscall.SIGSTOP) }

// Cont resumes a stopped server.
func (s *Server) Cont(t testing.TB) { s.signalAll(t, syscall.SIGCONT) }

// signalAll sends a signal to the server and to the processes of its connections.
func (s *Server) signalAll(t testing.TB, sig syscall.Signal) {
	t.Helper()
	// The server is the leader of its session, but each of its processes has a group.
	children, err := exec.Command("ps", "-o", "pid=", "--ppid", strconv.Itoa(s.process.Pid())).Output()
	if err != nil && sig == syscall.SIGSTOP {
		t.Fatalf("ps: %v", err)
	}
	for _, pid := range append(strings.Fields(string(children)), strconv.Itoa(s.process.Pid())) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		if sig == syscall.SIGSTOP {
			_ = child.Stop(n) // a connection may have ended meanwhile
		} else {
			_ = syscall.Kill(n, sig)
		}
	}
}

// Kill ends the server as a crash would and waits until it is gone. Its other processes
// notice that and end, too.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGKILL)
	<-s.process.Exited()
}

// Shutdown ends the server in the way of a planned restart: it disconnects its clients.
func (s *Server) Shutdown(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGINT)
	<-s.process.Exited()
}

func (s *Server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.process.Signal(sig); err != nil {
		t.Fatalf("signal %v to postgres: %v", sig, err)
	}
}

// Restart kills the server, if it still runs, and starts it again on the same port.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.process.Kill()
	// The processes of a killed server hold its shared memory until they notice.
	var err error
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if err = s.run(); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("postgres did not start again: %v\n%s", err, s.process.Log())
		}
	}
}

// run starts the process and waits until it answers.
func (s *Server) run() error {
	postgres, err := program("postgres")
	if err != nil {
		return err
	}
	cmd := exec.Command(postgres, append([]string{"-D", s.dir, "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200"}, s.args...)...)
	cmd.Dir = s.dir
	if s.process, err = child.StartAs(account, cmd); err != nil {
		return err
	}
	return s.await()
}

var errPortTaken = errors.New("another server has the port")

// await returns nil when the server answers, or an error that says why it does not.
func (s *Server) await() error {
	for end := time.Now().Add(patience); ; {
		dir, err := s.Query("postgres", "SHOW data_directory")
		if err == nil && dir == s.dir {
			return nil
		}
		if err == nil {
			s.process.Kill()
			return fmt.Errorf("%w: port %d", errPortTaken, s.port)
		}
		select {
		case <-s.process.Exited():
			if strings.Contains(s.process.Log(), "Address already in use") {
				return errPortTaken
			}
			return errors.New("the process exited")
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			s.process.Kill()
			return fmt.Errorf("no answer in %v: %w", patience, err)
		}
	}
}

// end kills the server and removes its files.
func (s *Server) end() {
	s.process.Kill()
	// The last processes may still write for a moment.
	for range 100 {
		if os.RemoveAll(s.dir) == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Exec runs statements in a database and returns their output: a line for each row, with |
// between its columns.
func (s *Server) Exec(t testing.TB, database, sql string) string {
	t.Helper()
	out, err := s.Query(database, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// Query is Exec for a statement that may fail.
func (s *Server) Query(database, sql string) (string, error) {
	psql, err := program("psql")
	if err != nil {
		return "", err
	}
	cmd := exec.Command(psql, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", "--dbname", s.URL(database), "--command", sql)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// Version returns the version of PostgreSQL that is installed, such as "15.14".
func Version(t testing.TB) string {
	t.Helper()
	postgres, err := program("postgres")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(postgres, "--version").Output()
	fields := strings.Fields(string(out))
	if err != nil || len(fields) < 3 {
		t.Fatalf("postgres --version: %q, %v", out, err)
	}
	return fields[2]
}
