package etcd_test

import (
	"context"
	"errors"
	"strings"
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
