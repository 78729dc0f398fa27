package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// Holders in these tests.
const (
	ann = "a1100000-0000-4000-8000-00000000000a:1"
	bob = "b0b00000-0000-4000-8000-00000000000b:1"
)

// sharedTests runs tests in parallel that share a server and do not disturb it.
func sharedTests(t *testing.T, tests map[string]func(t *testing.T, m *etcdtest.Member)) {
	t.Parallel()
	m := etcdtest.Start(t)
	t.Run("on one server", func(t *testing.T) { // waits for the parallel tests
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, m)
			})
		}
	})
}

// lockNumber makes the keys of the tests different.
var lockNumber atomic.Int64

// request returns a request for a lock that no other test uses, with a long lease.
func request(holder string) engine.Request {
	n := lockNumber.Add(1)
	return engine.Request{Key: fmt.Sprint("lock:", n), Holder: holder, Attempt: fmt.Sprint("attempt-", n), Lease: time.Minute}
}

// by returns r with another holder and attempt.
func by(holder string, r engine.Request) engine.Request {
	r.Holder, r.Attempt = holder, fmt.Sprint("attempt-", lockNumber.Add(1))
	return r
}

// claim returns a claim of a key that no other test uses, with a long lease.
func claim() engine.Claim {
	n := lockNumber.Add(1)
	return engine.Claim{Key: fmt.Sprint("record:", n), Attempt: fmt.Sprint("attempt-", n), Lease: time.Minute, Retain: time.Hour}
}

func granted(t testing.TB, e engine.Engine, r engine.Request) engine.Grant {
	t.Helper()
	g, err := e.Acquire(t.Context(), r)
	if err != nil {
		t.Fatalf("acquire %s: %v, want a grant", r.Key, err)
	}
	return g
}

func busy(t testing.TB, e engine.Engine, r engine.Request) *engine.BusyError {
	t.Helper()
	_, err := e.Acquire(t.Context(), r)
	var b *engine.BusyError
	if !errors.As(err, &b) {
		t.Fatalf("acquire %s: %v, want a *engine.BusyError", r.Key, err)
	}
	return b
}

func released(t testing.TB, e engine.Engine, r engine.Request, want engine.Outcome) {
	t.Helper()
	if p, err := e.Release(t.Context(), r); err != nil || p.Outcome != want {
		t.Fatalf("release %s: %v, %v, want %v", r.Key, p.Outcome, err, want)
	}
}

func renewed(t testing.TB, e engine.Engine, r engine.Request) {
	t.Helper()
	if err := e.Renew(t.Context(), []engine.Request{r})[0]; err != nil {
		t.Fatalf("renew %s: %v", r.Key, err)
	}
}

// wantError requires an error that matches want and none of the others.
func wantError(t testing.TB, err, want error, others ...error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want one that matches %v", err, want)
	}
	for _, other := range others {
		if errors.Is(err, other) {
			t.Errorf("error %v matches %v", err, other)
		}
	}
}

// A network is an engine behind a proxy. Faults begin after a request of its own, so that
// they hit the one after it.
type network struct {
	*etcd.Engine
	*faultnet.Proxy

	mu    sync.Mutex
	after []string // operations whose answers are still awaited, in order
	fault func()
}

// behindProxy returns an engine behind a proxy.
func behindProxy(t testing.TB, addr string, opts ...etcd.Option) *network {
	t.Helper()
	n := &network{Proxy: faultnet.New(t, addr)}
	n.Engine = open(t, "etcd://"+n.Proxy.Addr(), opts...)
	stop := n.Capabilities().Observe(func(c engine.ServerCall) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.after) == 0 || c.Operation != n.after[0] || c.Err != nil {
			return
		}
		if n.after = n.after[1:]; len(n.after) == 0 {
			n.fault()
		}
	})
	t.Cleanup(stop)
	return n
}

// then lets a fault begin once, after the answers to these operations.
func (n *network) then(fault func(), operations ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.after, n.fault = operations, fault
}

// loseReplies drops all that the server sends, and heal ends that.
func (n *network) loseReplies() { n.BlackHole(faultnet.Replies, true) }

// heal ends the faults, and cuts the connections, of which HTTP/2 has lost parts.
func (n *network) heal() {
	n.BlackHole(faultnet.Replies, false)
	n.BlackHole(faultnet.Requests, false)
	n.Reset()
}

// notified requires a notification.
func notified(t testing.TB, wake <-chan struct{}) {
	t.Helper()
	select {
	case <-wake:
	case <-time.After(30 * time.Second):
		t.Fatal("no notification arrived within 30s")
	}
}

// eventually waits until f returns nil.
func eventually(t testing.TB, f func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatalf("after 60s: %v", err)
}

// keys returns the keys below a prefix.
func keys(t testing.TB, client *clientv3.Client, prefix string) (all []string) {
	t.Helper()
	resp, err := client.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range resp.Kvs {
		all = append(all, strings.TrimPrefix(string(kv.Key), prefix))
	}
	return all
}

// leader returns the index of the leader.
func leader(t testing.TB, client *clientv3.Client) (index int) {
	t.Helper()
	eventually(t, func() error {
		for i, endpoint := range client.Endpoints() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			s, err := client.Status(ctx, endpoint)
			cancel()
			if err == nil && s.Leader == s.Header.MemberId {
				index = i
				return nil
			}
		}
		return errors.New("the cluster has no leader")
	})
	return index
}

// cluster returns three members, an engine and a client on them. An election begins later than
// by default: on a busy machine, members that are alive are silent for a second.
func cluster(t testing.TB, opts ...etcd.Option) ([]*etcdtest.Member, patient, *clientv3.Client) {
	t.Helper()
	members := etcdtest.StartCluster(t, "--heartbeat-interval=150", "--election-timeout=1500")
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.Addr())
	}
	return members, patient{open(t, etcdtest.URL(members), opts...)}, connect(t, addrs...)
}

// others returns the members except one.
func others(members []*etcdtest.Member, i int) []*etcdtest.Member {
	return slices.Delete(slices.Clone(members), i, i+1)
}
