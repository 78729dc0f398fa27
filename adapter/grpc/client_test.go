package interlockgrpc_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/interlock-go/interlock/adapter/grpc"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// keys records the keys that reach a server, and answers with the given errors first.
type keys struct {
	mu     sync.Mutex
	seen   []string
	errors []error
}

func (k *keys) intercept(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	k.mu.Lock()
	md, _ := metadata.FromIncomingContext(ctx)
	k.seen = append(k.seen, append(md.Get(key), "none")[0])
	var err error
	if len(k.errors) > 0 {
		err, k.errors = k.errors[0], k.errors[1:]
	}
	k.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return next(ctx, req)
}

// same fails the test unless n calls with one key have reached the server.
func (k *keys) same(t *testing.T, n int) string {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, got := range k.seen {
		if got != k.seen[0] || got == "none" {
			t.Fatalf("keys: %q", k.seen)
		}
	}
	if len(k.seen) != n {
		t.Fatalf("keys: %q, want %d", k.seen, n)
	}
	return k.seen[0]
}

// retrying serves a guarded handler for a client that retries.
func retrying(t *testing.T, k *keys, opts ...interlockgrpc.ClientOption) *grpc.ClientConn {
	conn := serve(t, orders(func(_ context.Context, text string) (string, error) { return text, nil }, nil),
		grpc.ChainUnaryInterceptor(k.intercept, once(t, newClient(t), guard.Policy{}).Unary))
	quick := interlockgrpc.Backoff(time.Millisecond, time.Millisecond)
	return dial(t, conn.Target(), grpc.WithUnaryInterceptor(interlockgrpc.UnaryClientInterceptor(append([]interlockgrpc.ClientOption{quick}, opts...)...)))
}

func TestTheClientRetriesWithOneKey(t *testing.T) {
	unavailable := status.Error(codes.Unavailable, "try again")
	k := &keys{errors: []error{unavailable, unavailable}}
	call(t, retrying(t, k), create, "tea").succeeded(t, "tea", false)
	first := k.same(t, 3)

	other := &keys{}
	conn := retrying(t, other)
	call(t, conn, create, "tea").succeeded(t, "tea", false)
	if other.same(t, 1) == first {
		t.Error("two calls have the same key")
	}
	call(t, conn, get, "tea").succeeded(t, "tea", false)
	if got := other.seen[1]; got != "none" {
		t.Errorf("a method without side effects got key %q", got)
	}
}

func TestTheClientKeepsAKey(t *testing.T) {
	k := &keys{}
	conn := retrying(t, k)
	for i := range 2 {
		callWith(interlockgrpc.WithKey(t.Context(), "mine"), conn, create, "tea").succeeded(t, "tea", i > 0)
	}
	call(t, conn, create, "tea", key, "mine").succeeded(t, "tea", true)
	if k.same(t, 3) != "mine" {
		t.Errorf("keys: %q", k.seen)
	}
	for _, pairs := range [][]string{{key, "a", key, "b"}, {key, ""}} {
		if r := call(t, conn, create, "tea", pairs...); r.err == nil {
			t.Errorf("%q was sent", pairs)
		}
	}
	k.same(t, 3)
}

func TestTheClientDoesNotRetry(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		opts []interlockgrpc.ClientOption
		want int
	}{
		"other errors":             {status.Error(codes.Internal, ""), nil, 1},
		"ABORTED of other origin":  {status.Error(codes.Aborted, ""), nil, 1},
		"RESOURCE_EXHAUSTED":       {status.Error(codes.ResourceExhausted, ""), nil, 1},
		"more often than Attempts": {status.Error(codes.Unavailable, ""), []interlockgrpc.ClientOption{interlockgrpc.Attempts(3)}, 3},
		"longer than RetryFor":     {status.Error(codes.Unavailable, ""), []interlockgrpc.ClientOption{interlockgrpc.Attempts(1000), interlockgrpc.RetryFor(time.Nanosecond)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			k := &keys{}
			for range 1000 {
				k.errors = append(k.errors, c.err)
			}
			if r := call(t, retrying(t, k, c.opts...), create, "tea"); status.Code(r.err) != status.Code(c.err) {
				t.Errorf("got %v", r.err)
			}
			k.same(t, c.want)
		})
	}
}

// A client whose connection breaks repeats the call with the same key, and gets the reply of
// the first try.
func TestTheClientSurvivesABrokenConnection(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	release := func() {}
	conn := serveGuarded(t, guard.Policy{}, func(ctx context.Context, text string) (string, error) {
		release()
		return echo(runs)(ctx, text)
	})
	proxy := faultnet.New(t, conn.Target())
	var once sync.Once
	release = func() { once.Do(proxy.Reset) } // the reply cannot arrive
	client := dial(t, proxy.Addr(), grpc.WithUnaryInterceptor(interlockgrpc.UnaryClientInterceptor()))
	call(t, client, create, "tea").succeeded(t, "tea 1", true)
	runs.Once()
}

// A call that another process still runs is repeated after the time in its RetryInfo.
func TestTheClientWaitsForACallInProgress(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	k := &keys{}
	var once2 sync.Once
	refused := make(chan struct{})
	conn := serve(t, orders(func(context.Context, string) (string, error) {
		close(entered)
		<-leave
		return "done", nil
	}, nil), grpc.ChainUnaryInterceptor(k.intercept, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		out, err := next(ctx, req)
		if status.Code(err) == codes.Aborted {
			once2.Do(func() { close(refused) })
		}
		return out, err
	}, once(t, newClient(t), guard.Policy{}).Unary))
	client := dial(t, conn.Target(), grpc.WithUnaryInterceptor(interlockgrpc.UnaryClientInterceptor()))
	replies := make(chan reply)
	go func() { replies <- call(t, conn, create, "tea", key, "k") }()
	<-entered
	start := time.Now()
	go func() { replies <- call(t, client, create, "tea", key, "k") }()
	<-refused
	close(leave)
	(<-replies).succeeded(t, "done", false)
	(<-replies).succeeded(t, "done", true)
	if waited := time.Since(start); waited < time.Second {
		t.Errorf("the client waited for %v; the RetryInfo says a second", waited)
	}
}

// The retries of a service config are made below the interceptor, with the same key.
func TestTheRetriesOfAServiceConfigHaveTheSameKey(t *testing.T) {
	k := &keys{errors: []error{status.Error(codes.Unavailable, ""), status.Error(codes.Unavailable, "")}}
	conn := dial(t, retrying(t, k).Target(), grpc.WithUnaryInterceptor(interlockgrpc.UnaryClientInterceptor(interlockgrpc.Attempts(1))),
		grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`))
	call(t, conn, create, "tea").succeeded(t, "tea", false)
	k.same(t, 3)
}
