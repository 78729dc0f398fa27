// Package zookeepertest starts ZooKeeper servers for tests. Each server is a process on
// free ports of the loopback interface, and is killed when its test ends.
//
// A test that needs ZooKeeper fails if it is not installed. Under -short, a test that
// needs several servers is skipped, unless the environment has INTERLOCK_VERIFY, as in
// make verify.
package zookeepertest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/child"
)

const (
	// patience is how long a server may take to serve. It is a Java program, and a loaded
	// machine with two cores may need many seconds to start three of them.
	patience = 2 * time.Minute

	// jar has the server, and names the libraries that it needs.
	jar = "/usr/share/java/zookeeper.jar"
)

// A Server is a ZooKeeper server.
type Server struct {
	port  int // for clients
	peers [2]int
	id    int
	dir   string

	settings []string // further lines of the configuration
	clock    *clock   // nil if the clock cannot be moved

	process *child.Process // nil before the first launch
}

// Start runs a server until the test ends. Settings are further lines of its
// configuration.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	requireInstalled(t)
	return start(t, t.TempDir(), nil, settings...)
}

// StartClocked is Start for a server whose wall clock can be moved by [Server.Step]. It
// needs a C compiler.
func StartClocked(t testing.TB) *Server {
	t.Helper()
	requireInstalled(t)
	dir := t.TempDir()
	c, err := newClock(dir)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, dir, c)
}

func start(t testing.TB, dir string, c *clock, settings ...string) *Server {
	t.Helper()
	s := newServer(dir, 1)
	s.clock, s.settings = c, settings
	t.Cleanup(func() { s.end(t) })
	if err := s.run(nil); err != nil {
		t.Fatalf("ZooKeeper did not start: %v\n%s", err, s.process.Log())
	}
	return s
}

// Shared runs a server for all tests of a package, until stop is called in TestMain, or for a
// program that is not a test. Settings are as for [Start]. The error is [ErrMissing] if
// ZooKeeper is not installed.
func Shared(settings ...string) (s *Server, stop func(), _ error) {
	if _, err := os.Stat(jar); err != nil {
		return nil, nil, ErrMissing
	}
	dir, err := os.MkdirTemp("", "zookeepertest")
	if err != nil {
		return nil, nil, err
	}
	s = newServer(dir, 1)
	s.settings = settings
	stop = func() {
		s.Kill()
		_ = os.RemoveAll(dir)
	}
	if err := s.run(nil); err != nil {
		stop()
		return nil, nil, fmt.Errorf("ZooKeeper did not start: %w\n%s", err, s.process.Log())
	}
	return s, stop, nil
}

// ErrMissing says that ZooKeeper is not installed.
var ErrMissing = errors.New("ZooKeeper is not installed: apt-get install zookeeper")

// requireInstalled fails the test if ZooKeeper is not installed.
func requireInstalled(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(jar); err != nil {
		t.Fatal(ErrMissing)
	}
}

// newServer returns a server that does not run yet.
func newServer(dir string, id int) *Server {
	return &Server{port: port(), peers: [2]int{port(), port()}, id: id, dir: dir}
}

// port returns a free port below those that systems give to clients, so that no
// connection takes it while the server is down.
func port() int {
	for {
		p := 10000 + rand.IntN(22000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p)))
		if err == nil {
			_ = l.Close()
			return p
		}
	}
}

// Addr returns the server's host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the server's address as a zk:// URL.
func (s *Server) URL() string { return "zk://" + s.Addr() }

// Stop pauses the server process, with its connections open, until Cont. It returns when
// every thread has stopped.
func (s *Server) Stop() {
	s.signal(syscall.SIGSTOP)
	for end := time.Now().Add(patience); !stopped(s.process.Pid()) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

// Cont resumes a stopped server.
func (s *Server) Cont() { s.signal(syscall.SIGCONT) }

// Kill ends the server as a crash would and waits until it is gone.
func (s *Server) Kill() { s.process.Kill() }

// Restart starts a killed server again, on its port and with its data.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill()
	if err := s.launch(); err == nil {
		err = s.await("standalone", "leader", "follower")
		if err == nil {
			return
		}
	}
	t.Fatalf("ZooKeeper did not start again:\n%s", s.process.Log())
}

// run writes the configuration, starts a server that is alone, and waits until it serves.
// An ensemble passes its servers, and waits for all of them itself.
func (s *Server) run(ensemble []*Server) error {
	if err := s.configure(ensemble); err != nil {
		return err
	}
	if err := s.launch(); err != nil {
		return err
	}
	if ensemble != nil {
		return nil
	}
	return s.await("standalone")
}

// configure writes the files of the server.
func (s *Server) configure(ensemble []*Server) error {
	var c strings.Builder
	// A short tick allows short sessions. The limits are long enough for a busy machine.
	fmt.Fprintf(&c, "tickTime=300\ninitLimit=60\nsyncLimit=20\nminSessionTimeout=300\nmaxSessionTimeout=60000\n"+
		"maxClientCnxns=0\n4lw.commands.whitelist=*\nadmin.enableServer=false\n"+
		"dataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n", s.dir, s.port)
	for _, line := range s.settings { // the last line of a setting counts
		fmt.Fprintln(&c, line)
	}
	for _, other := range ensemble {
		fmt.Fprintf(&c, "server.%d=127.0.0.1:%d:%d\n", other.id, other.peers[0], other.peers[1])
	}
	return errors.Join(
		os.WriteFile(filepath.Join(s.dir, "zoo.cfg"), []byte(c.String()), 0o600),
		os.WriteFile(filepath.Join(s.dir, "myid"), []byte(strconv.Itoa(s.id)), 0o600),
		os.WriteFile(filepath.Join(s.dir, "log4j.properties"), []byte(logging), 0o600),
	)
}

const logging = `log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %c{1}: %m%n
`

// launch starts the process.
func (s *Server) launch() (err error) {
	// A small heap, and a compiler that starts fast. The tests do not need data that
	// outlasts the machine, so nothing is synced to disk unless a setting is forceSync=yes.
	cmd := exec.Command("java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
		"-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024", "-Dzookeeper.jmx.log4j.disable=true",
		// A server that has waited long for a majority would look for one only once a minute.
		"-Dzookeeper.fastleader.maxNotificationInterval=1000",
		"-Dlog4j.configuration=file:"+filepath.Join(s.dir, "log4j.properties"),
		"-cp", s.dir+":"+jar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(s.dir, "zoo.cfg"))
	cmd.Env = append(os.Environ(), s.clock.environment()...)
	s.process, err = child.Start(cmd)
	return err
}

// await waits until the server serves in one of some modes.
func (s *Server) await(modes ...string) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case <-s.process.Exited():
			return errors.New("the process exited")
		default:
		}
		if slices.Contains(modes, s.Mode()) {
			return nil
		}
	}
	return fmt.Errorf("it does not serve within %v", patience)
}

// Mode returns standalone, leader or follower, or "" if the server does not serve.
func (s *Server) Mode() string {
	for line := range strings.Lines(s.Ask("srvr")) {
		if mode, ok := strings.CutPrefix(strings.TrimSpace(line), "Mode: "); ok {
			return mode
		}
	}
	return ""
}

// Ask returns the answer to a command of four letters; "" if there is none.
func (s *Server) Ask(word string) string {
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	_, _ = io.WriteString(conn, word)
	text, _ := io.ReadAll(conn)
	return string(text)
}

// signal sends a signal. A process that has ended needs none.
func (s *Server) signal(sig os.Signal) { _ = s.process.Signal(sig) }

// end kills the server, and prints its log if the test failed.
func (s *Server) end(t testing.TB) {
	s.Kill()
	if t.Failed() {
		t.Logf("log of ZooKeeper on %s:\n%s", s.Addr(), s.process.Log())
	}
}

// Version returns the version of the servers.
func Version(t testing.TB, s *Server) string {
	t.Helper()
	first, _, _ := strings.Cut(s.Ask("srvr"), "\n")
	version, _, _ := strings.Cut(strings.TrimPrefix(first, "Zookeeper version: "), "-")
	return version
}
