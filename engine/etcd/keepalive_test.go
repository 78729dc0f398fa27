package etcd_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// A member checks the password at each login, which takes 50 ms of a core.
func TestRenewalsDoNotLogIn(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	secure(t, m)
	var logins atomic.Int64
	count := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if strings.HasSuffix(method, "/Authenticate") {
			logins.Add(1)
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{m.Addr()}, Username: "shop", Password: "shop", DialTimeout: testTimeout, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(count)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	e, r := etcd.New(client, etcd.Timeout(testTimeout)), request(ann)
	defer closeEngine(t, e)
	granted(t, e, r)
	renewed(t, e, r)
	before := logins.Load()
	for range 10 {
		renewed(t, e, r)
		released(t, e, r, engine.Released)
		granted(t, e, r)
	}
	if n := logins.Load() - before; before == 0 || n != 0 {
		t.Errorf("the client logged in %d times before, and %d times for 30 calls, want none", before, n)
	}
	// The session has expired when a member does not know its token.
	m.Restart()
	renewed(t, e, r)
	released(t, e, r, engine.Released)
}

// withKeepAlives returns an engine that calls before when it opens a stream for the renewal of a
// lease. The stream fails if before returns an error.
func withKeepAlives(t testing.TB, m *etcdtest.Member, before func() error) *etcd.Engine {
	t.Helper()
	intercept := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		if strings.HasSuffix(method, "/LeaseKeepAlive") {
			if err := before(); err != nil {
				return nil, err
			}
		}
		return stream(ctx, desc, cc, method, opts...)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{m.Addr()}, DialTimeout: testTimeout, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithChainStreamInterceptor(intercept)},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := etcd.New(client, etcd.Timeout(testTimeout))
	t.Cleanup(func() {
		closeEngine(t, e)
		_ = client.Close()
	})
	return e
}

// Renewals that take long make room for others.
func TestASlowClusterGetsABoundedNumberOfRenewals(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	var now, most atomic.Int64
	e := withKeepAlives(t, m, func() error {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); {
			old = most.Load()
		}
		time.Sleep(time.Second) // an answer of a slow cluster; without a limit, hundreds wait for theirs
		return nil
	})
	r, c := request(ann), claim()
	granted(t, e, r)
	if _, err := e.Capabilities().Ledger.Claim(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	calls.Go(func() {
		if err := errors.Join(e.Renew(t.Context(), slices.Repeat([]engine.Request{r}, 400))...); err != nil {
			t.Errorf("renew: %v", err)
		}
	})
	calls.Go(func() {
		if err := errors.Join(e.Capabilities().Ledger.Renew(t.Context(), slices.Repeat([]engine.Claim{c}, 50))...); err != nil {
			t.Errorf("renew the claim: %v", err)
		}
	})
	calls.Wait()
	if n := most.Load(); n > 256 {
		t.Errorf("%d renewals were made at the same time, want at most 256", n)
	}
}

func TestALazyEngineLogsInLater(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	secure(t, m)
	m.Kill()
	url, short := "etcd://shop:shop@"+m.Addr()+"?lazy=true&dial_timeout=100ms", etcd.Timeout(100*time.Millisecond)
	down, err := etcd.Open(t.Context(), url, short)
	if err != nil {
		t.Fatalf("open: %v, want no error of a lazy engine", err)
	}
	_, err = down.Acquire(t.Context(), request(ann))
	closeEngine(t, down)
	if !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("acquire: error %v, want %v", err, engine.ErrUnavailable)
	}
	e, err := etcd.Open(t.Context(), url, etcd.Timeout(testTimeout/4))
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	m.Restart()
	r := request(ann)
	eventually(t, func() error {
		_, err := e.Acquire(t.Context(), r)
		return err
	})
	renewed(t, e, r)
	released(t, e, r, engine.Released)
}

// A stream of watches keeps the session with which it was opened.
func TestWaitersAreNotifiedAfterTheirSessionHasExpired(t *testing.T) {
	for name, expire := range map[string]func(root *clientv3.Client) error{
		"its time has passed": func(*clientv3.Client) error {
			time.Sleep(3 * time.Second)
			return nil
		},
		"the users were changed": func(root *clientv3.Client) error {
			_, err := root.UserAdd(context.Background(), "other", "other")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := etcdtest.Start(t, "--auth-token-ttl", "1")
			secure(t, m)
			root, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Addr()}, Username: "root", Password: "root", DialTimeout: testTimeout, Logger: zap.NewNop()})
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			e, r := open(t, "etcd://shop:shop@"+m.Addr()), request(ann)
			revoked, stop := e.Watch("client") // as every client does
			defer stop()
			notified(t, revoked)
			if err := expire(root); err != nil {
				t.Fatal(err)
			}
			granted(t, e, r)
			wake, stop := e.Notify(r)
			defer stop()
			notified(t, wake) // the watch is open
			released(t, e, r, engine.Released)
			notified(t, wake)
		})
	}
}
