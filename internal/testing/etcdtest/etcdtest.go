// Package etcdtest starts etcd clusters for tests. Each member is a process on free ports of
// the loopback interface, and is killed when its test ends.
//
// Members do not sync to disk; the argument --unsafe-no-fsync=false lets them.
//
// The server is built from source on first use, which takes minutes, and kept in the user's
// cache directory. Under -short, a test that needs several members is skipped, unless the
// environment has INTERLOCK_VERIFY, as in make verify.
package etcdtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// patience is how long a member may take to answer. A loaded machine with two cores has
// been seen to take several seconds.
const patience = 60 * time.Second

// A Member is one server of a cluster.
type Member struct {
	t          testing.TB
	name       string
	dir        string
	clientPort int
	peerPort   int
	args       []string

	stopped atomic.Bool    // Stop was called, and Cont was not
	process *child.Process // nil before the first start
}

// Start runs a cluster of one member with args until the test ends.
func Start(t testing.TB, args ...string) *Member {
	t.Helper()
	return start(t, 1, args)[0]
}

// StartCluster runs a cluster of three members with args until the test ends.
func StartCluster(t testing.TB, args ...string) []*Member {
	t.Helper()
	child.SkipIfShort(t, "needs several servers")
	return start(t, 3, args)
}

// start runs a cluster of n members. Another process may take a free port before a member
// does, so there are several tries.
func start(t testing.TB, n int, args []string) []*Member {
	t.Helper()
	program := build(t)
	var err error
	for range 5 {
		var members []*Member
		if members, err = tryStart(t, program, n, args); err == nil {
			return members
		}
	}
	t.Fatalf("etcd did not start: %v", err)
	return nil
}

// tryStart makes one try.
func tryStart(t testing.TB, program string, n int, args []string) ([]*Member, error) {
	ports, err := child.FreePorts(2 * n)
	if err != nil {
		return nil, err
	}
	members := make([]*Member, n)
	for i := range members {
		members[i] = &Member{t: t, name: fmt.Sprintf("m%d", i+1), dir: t.TempDir(), clientPort: ports[2*i], peerPort: ports[2*i+1]}
		t.Cleanup(members[i].end)
	}
	return members, launch(members, program, args)
}

// Shared runs a cluster of one member with args until stop is called, for programs that are
// not tests. Of the member's methods, such a program calls only Addr and URL. The error is an
// [ErrMissing] if the server cannot be built.
func Shared(args ...string) (m *Member, stop func(), _ error) {
	building.once.Do(func() { building.program, building.output, building.err = buildOnce() })
	if building.err != nil {
		return nil, nil, fmt.Errorf("%w: build internal/testing/etcdtest/testdata/server: %w\n%s", ErrMissing, building.err, building.output)
	}
	dir, err := os.MkdirTemp("", "etcdtest")
	if err != nil {
		return nil, nil, err
	}
	for try := range 5 { // another process may take a free port
		var ports []int
		if ports, err = child.FreePorts(2); err != nil {
			break
		}
		m := &Member{name: "m1", dir: filepath.Join(dir, strconv.Itoa(try)), clientPort: ports[0], peerPort: ports[1]}
		if err = launch([]*Member{m}, building.program, args); err == nil {
			return m, func() { m.process.Kill(); _ = os.RemoveAll(dir) }, nil
		}
	}
	_ = os.RemoveAll(dir)
	return nil, nil, fmt.Errorf("etcd did not start: %w", err)
}

// ErrMissing says that the server cannot be built.
var ErrMissing = errors.New("etcd is not built")

// launch starts the members of a cluster, and waits until all answer.
func launch(members []*Member, program string, args []string) error {
	var initial []string
	for _, m := range members {
		initial = append(initial, m.name+"="+m.peerURL())
	}
	for _, m := range members {
		m.args = append([]string{
			program, "--name", m.name, "--data-dir", filepath.Join(m.dir, "data"),
			"--listen-client-urls", "http://" + m.Addr(), "--advertise-client-urls", "http://" + m.Addr(),
			"--listen-peer-urls", m.peerURL(), "--initial-advertise-peer-urls", m.peerURL(),
			"--initial-cluster", strings.Join(initial, ","), "--initial-cluster-state", "new",
			// The shortest lease is one and a half election timeouts, in whole seconds.
			"--heartbeat-interval", "60", "--election-timeout", "600",
			"--unsafe-no-fsync", "--log-level", "warn",
		}, args...)
		if err := m.run(); err != nil {
			return err
		}
	}
	for _, m := range members {
		if err := m.await(); err != nil {
			for _, m := range members {
				m.process.Kill()
			}
			return fmt.Errorf("%w\n%s", err, m.process.Log())
		}
	}
	return nil
}

// Addr returns the host and port for clients.
func (m *Member) Addr() string { return fmt.Sprintf("127.0.0.1:%d", m.clientPort) }

// URL returns the member's address as an etcd:// URL.
func (m *Member) URL() string { return "etcd://" + m.Addr() }

// URL returns the address of a cluster.
func URL(members []*Member) string {
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.Addr())
	}
	return "etcd://" + strings.Join(addrs, ",")
}

func (m *Member) peerURL() string { return fmt.Sprintf("http://127.0.0.1:%d", m.peerPort) }

// Stop pauses the process, with its connections open, until Cont.
func (m *Member) Stop() {
	m.t.Helper()
	m.signal(syscall.SIGSTOP)
	m.stopped.Store(true)
}

// Cont resumes a stopped member.
func (m *Member) Cont() {
	m.t.Helper()
	m.stopped.Store(false)
	m.signal(syscall.SIGCONT)
}

// Kill ends the member as a crash would and waits until it is gone.
func (m *Member) Kill() {
	m.t.Helper()
	m.signal(syscall.SIGKILL)
	<-m.process.Exited()
}

// Restart kills the member, if it still runs, and starts it again with the same ports and
// data. It waits until the member answers, for which the cluster needs a majority.
func (m *Member) Restart() {
	m.t.Helper()
	m.process.Kill()
	if err := m.run(); err != nil {
		m.t.Fatalf("etcd did not start again: %v", err)
	}
	if err := m.await(); err != nil {
		m.t.Fatalf("etcd did not start again: %v", err)
	}
}

// Start starts a member that was killed. It does not wait: a member without a majority does
// not answer.
func (m *Member) Start() error {
	m.t.Helper()
	return m.run()
}

// run starts the process.
func (m *Member) run() (err error) {
	m.stopped.Store(false)
	cmd := exec.Command(m.args[0], m.args[1:]...)
	// etcd reads options from such variables, too.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ETCD_") })
	m.process, err = child.Start(cmd)
	return err
}

// await returns nil when the member answers and its cluster has a leader.
func (m *Member) await() error {
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for end := time.Now().Add(patience); ; {
		resp, err := client.Get("http://" + m.Addr() + "/health")
		if err == nil {
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if strings.Contains(string(body), `"true"`) {
				return nil
			}
		}
		select {
		case <-m.process.Exited():
			return errors.New("the process exited")
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			m.process.Kill()
			return fmt.Errorf("no answer in %v: %w", patience, err)
		}
	}
}

func (m *Member) signal(sig os.Signal) {
	m.t.Helper()
	if err := m.process.Signal(sig); err != nil {
		m.t.Fatalf("signal %v to etcd: %v", sig, err)
	}
}

// end kills the member, and prints its log if the test failed.
func (m *Member) end() {
	m.process.Kill()
	if m.t.Failed() && m.process != nil {
		m.t.Logf("log of etcd on %s:\n%s", m.Addr(), tail(m.process.Log()))
	}
}

// tail returns the end of a log.
func tail(log string) string { return log[max(0, len(log)-4000):] }
