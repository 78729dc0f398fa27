// Package mysqltest starts MariaDB servers for tests. Each server is a process on a free
// port of the loopback interface, with its files in a temporary directory. It survives Kill:
// the operating system keeps what was written.
//
// A test that needs MariaDB fails if it is not installed.
package mysqltest

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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// patience is how long a server may take to start or to answer. Recovery on a loaded machine
// takes seconds.
const patience = 60 * time.Second

// The user of the tests, who may do everything. It logs in over TCP, which root may not.
const (
	testUser     = "interlock"
	testPassword = "interlock"
)

// account is the user of the system that runs the servers: mariadbd refuses to run as root.
const account = "mysql"

// A Server is a MariaDB server.
type Server struct {
	port int
	dir  string
	args []string

	process *child.Process // nil before the first start
}

// StartServer runs a server of its own until the test ends. args are arguments of mariadbd,
// such as "--max-connections=10".
func StartServer(t testing.TB, args ...string) *Server {
	t.Helper()
	s, err := newServer(args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.end()
		if t.Failed() {
			t.Logf("log of mariadbd on %s:\n%s", s.Addr(), s.process.Log())
		}
	})
	return s
}

// Shared runs a server until stop is called, for programs that are not tests. args are
// arguments of mariadbd. The error is an [ErrMissing] if MariaDB is not installed.
func Shared(args ...string) (s *Server, stop func(), _ error) {
	s, err := newServer(args)
	if err != nil {
		return nil, nil, err
	}
	return s, s.end, nil
}

// ErrMissing says that a program of MariaDB is not installed.
var ErrMissing = errors.New("not installed: apt-get install mariadb-server")

// SkipIfShort skips a test under -short.
func SkipIfShort(t testing.TB) {
	t.Helper()
	child.SkipIfShort(t, "takes long")
}

// newServer creates the files of a server and starts it.
func newServer(args []string) (*Server, error) {
	if _, err := program("mariadbd"); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "interlock-mysql-")
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
		return nil, fmt.Errorf("mariadbd did not start: %w\n%s", err, s.process.Log())
	}
	return s, nil
}

// create creates the files. Under [Main], which removes it, the first server is the template
// of the others: copying is faster.
func (s *Server) create() error {
	if !underMain {
		return install(s.dir)
	}
	from, err := template()
	if err != nil {
		return err
	}
	return child.RunAs(account, s.dir, "cp", "--recursive", data(from), s.dir)
}

// template makes the files of a new server in a directory of their own.
var template = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "interlock-mysql-template-"); err != nil {
		return "", err
	}
	templateDir = dir
	return dir, install(dir)
})

var (
	underMain   bool
	templateDir string
)

// install makes the files of a new server. A server deletes temporary tables that it finds
// when it starts, also those of others. So no two have one directory for them.
func install(dir string) error {
	program, err := program("mariadb-install-db")
	if err != nil {
		return err
	}
	return child.RunAs(account, dir, program, "--no-defaults", "--datadir="+data(dir), "--tmpdir="+dir,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=0")
}

// data returns the directory of a server's data.
func data(dir string) string { return filepath.Join(dir, "data") }

// socket returns the socket through which the tests administer the server.
func (s *Server) socket() string { return filepath.Join(s.dir, "socket") }

// program returns the path of a program of MariaDB. Debian keeps the server in /usr/sbin,
// which PATH may lack.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	if path := filepath.Join("/usr/sbin", name); exists(path) {
		return path, nil
	}
	return "", fmt.Errorf("%s is %w", name, ErrMissing)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Addr returns the server's host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the URL of a database of the server. Its user may do everything.
func (s *Server) URL(database string) string { return s.URLAt(s.Addr(), database) }

// URLAt is URL with another address, such as that of a proxy.
func (s *Server) URLAt(addr, database string) string {
	return fmt.Sprintf("mysql://%s:%s@%s/%s", testUser, testPassword, addr, database)
}

// Dir returns the directory in which the server keeps its files.
func (s *Server) Dir() string { return s.dir }

// Stop pauses the server, with its connections open, until Cont.
func (s *Server) Stop(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Cont resumes a stopped server.
func (s *Server) Cont(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.process.Signal(sig); err != nil {
		t.Fatalf("signal %v to mariadbd: %v", sig, err)
	}
}

// Kill ends the server as a crash would and waits until it is gone.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGKILL)
	<-s.process.Exited()
}

// Shutdown ends the server in the way of a planned restart: it disconnects its clients.
func (s *Server) Shutdown(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGTERM)
	<-s.process.Exited()
}

// Restart kills the server, if it still runs, and starts it again on the same port, with
// further arguments.
func (s *Server) Restart(t testing.TB, args ...string) {
	t.Helper()
	s.args = append(s.args, args...)
	s.process.Kill()
	var err error
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if err = s.run(); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("mariadbd did not start again: %v\n%s", err, s.process.Log())
		}
	}
}

// run starts the process and waits until it answers.
func (s *Server) run() error {
	mariadbd, err := program("mariadbd")
	if err != nil {
		return err
	}
	cmd := exec.Command(mariadbd, append([]string{"--no-defaults", "--datadir", data(s.dir), "--socket", s.socket(), "--tmpdir", s.dir, "--pid-file", filepath.Join(s.dir, "pid"),
		"--bind-address=127.0.0.1", "--port", strconv.Itoa(s.port), "--skip-name-resolve", "--innodb-buffer-pool-size=64M",
		"--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=2", "--skip-log-bin", "--max-connections=300"}, s.args...)...)
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
		_, err := s.Query("mysql", fmt.Sprintf("CREATE USER IF NOT EXISTS '%s'@'127.0.0.1' IDENTIFIED BY '%s'; GRANT ALL ON *.* TO '%[1]s'@'127.0.0.1' WITH GRANT OPTION",
			testUser, testPassword))
		if err == nil {
			return nil
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
	_ = os.RemoveAll(s.dir)
}

// Exec runs statements in a database and returns their output: a line for each row, with
// tabs between its columns.
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
	client, err := program("mariadb")
	if err != nil {
		return "", err
	}
	cmd := exec.Command(client, "--no-defaults", "--socket", s.socket(), "--user", "root", "--batch", "--skip-column-names", "--execute", sql, database)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// Version returns the version of MariaDB that is installed, such as "10.11.14".
func Version(t testing.TB) string {
	t.Helper()
	mariadbd, err := program("mariadbd")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(mariadbd, "--version").Output()
	_, rest, found := strings.Cut(string(out), "Ver ")
	version, _, _ := strings.Cut(rest, "-")
	if err != nil || !found {
		t.Fatalf("mariadbd --version: %q, %v", out, err)
	}
	return version
}
