package interlockgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // registers the compressor
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/grpc"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

// Only the services of health checks and reflection themselves need no key.
func TestNamesThatLookLikeHealthChecksAreGuarded(t *testing.T) {
	g := once(t, newClient(t), guard.Policy{})
	for method, guarded := range map[string]bool{
		"/grpc.health.v1.Health/Check":        false,
		"/grpc.health.v1.Orders/Create":       true,
		"/grpc.health.v1.Health.Pay/Create":   true,
		"/Grpc.Health.V1.Health/Check":        true,
		"/grpc.reflection.shop.Orders/Create": true,
		"/shop.grpc.health.v1.Health/Check":   true,
	} {
		_, err := g.Unary(t.Context(), wrapperspb.String("tea"), &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) { return wrapperspb.String(""), nil })
		if refused := status.Code(err) == codes.InvalidArgument; refused != guarded {
			t.Errorf("%s: guarded: %v, want %v (%v)", method, refused, guarded, err)
		}
	}
}

// A service that is spelled wrongly would leave the method unguarded.
func TestAMisspelledServiceIsRefused(t *testing.T) {
	for _, name := range []string{"/shop.Order/Create", "/shop.orders/Create", "/shop.Orders/create"} {
		if _, err := interlockgrpc.Once(newClient(t), guard.Policy{Name: "order"}, interlockgrpc.User(user), interlockgrpc.Methods(name)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// The error of another service says that it may have executed the call.
func TestErrorsOfOtherServicesThatMayHaveRun(t *testing.T) {
	held, _ := status.New(codes.FailedPrecondition, "unknown").WithDetails(&errdetails.ErrorInfo{Domain: "interlock", Reason: "outcome_unknown"})
	gone, _ := status.New(codes.FailedPrecondition, "gone").WithDetails(&errdetails.ErrorInfo{Domain: "interlock", Reason: "result_unavailable"})
	for name, upstream := range map[string]error{
		"a reply that is too large to receive": status.Error(codes.ResourceExhausted, "grpc: received message larger than max (6 vs. 5)"),
		"a reply that is too large to send":    status.Error(codes.ResourceExhausted, "trying to send message larger than max (6 vs. 5)"),
		"an unknown outcome":                   held.Err(),
		"a reply that was not kept":            gone.Err(),
		"a wrapped one":                        fmt.Errorf("charge: %w", held.Err()),
	} {
		t.Run(name, func(t *testing.T) {
			runs := interlocktest.Count(t, "charging")
			conn := serveGuarded(t, guard.Policy{}, func(context.Context, string) (string, error) {
				runs.Mark()
				return "", upstream
			})
			call(t, conn, create, "tea", key, "k")
			call(t, conn, create, "tea", key, "k").is(t, codes.FailedPrecondition, "outcome_unknown")
			runs.Once()
		})
	}
}

func TestAnUpstreamReplyTooLargeToReceive(t *testing.T) {
	bank := serve(t, orders(func(context.Context, string) (string, error) { return "0123456789", nil }, nil))
	runs := interlocktest.Count(t, "charging")
	conn := serveGuarded(t, guard.Policy{}, func(ctx context.Context, _ string) (string, error) {
		runs.Mark()
		return "", bank.Invoke(ctx, pay, wrapperspb.String(""), new(wrapperspb.StringValue), grpc.MaxCallRecvMsgSize(5))
	})
	call(t, conn, create, "tea", key, "k").is(t, codes.ResourceExhausted, "")
	call(t, conn, create, "tea", key, "k").is(t, codes.FailedPrecondition, "outcome_unknown")
	runs.Once()
}

func TestOuterInterceptorsMayChangeReplies(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	var n atomic.Int32
	change := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		out, err := next(ctx, req)
		if m, ok := out.(*wrapperspb.StringValue); ok && m != nil {
			m.Value += fmt.Sprint(" for ", n.Add(1))
			_ = grpc.SetHeader(ctx, metadata.Pairs("x-order", "outer"))
		}
		return out, err
	}
	conn := serve(t, orders(echo(runs), nil), grpc.ChainUnaryInterceptor(change, once(t, newClient(t), guard.Policy{OnDuplicate: guard.Wait, Wait: time.Minute}).Unary))
	interlocktest.Together(50, func(int) {
		r := call(t, conn, create, "tea", key, "k")
		if r.err != nil || len(r.text) > len("tea 1 for 50") || len(r.header.Get("x-order")) != 3 {
			t.Errorf("got %+v", r)
		}
	})
	runs.Once()
}

func TestAHeaderThatWasSentEarlyIsReplayed(t *testing.T) {
	conn := serveGuarded(t, guard.Policy{}, func(ctx context.Context, _ string) (string, error) {
		_ = grpc.SendHeader(ctx, metadata.Pairs("x-early", "1"))
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-t-bin", "\x00\x01"))
		return "done", nil
	})
	first, again := call(t, conn, create, "tea", key, "k"), call(t, conn, create, "tea", key, "k")
	if first.value("x-early") != "1" || again.value("x-early") != "1" || again.trailer.Get("x-t-bin")[0] != "\x00\x01" {
		t.Errorf("%+v %+v", first, again)
	}
}

// The functions of grpc for compressors need its own stream, so the docs send their callers to
// an interceptor in front of the guard.
func TestAnOuterInterceptorChoosesTheCompressor(t *testing.T) {
	outer := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if err := grpc.SetSendCompressor(ctx, "gzip"); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
	runs := interlocktest.Count(t, "creating")
	conn := serve(t, orders(echo(runs), nil), grpc.ChainUnaryInterceptor(outer, once(t, newClient(t), guard.Policy{}).Unary))
	for i := range 2 {
		call(t, conn, create, "tea", key, "k").succeeded(t, "tea 1", i > 0)
	}
}

// Goroutines of a handler that has returned change nothing.
func TestAHandlersGoroutinesAfterItsReturn(t *testing.T) {
	stop := make(chan struct{})
	var group sync.WaitGroup
	conn := serveGuarded(t, guard.Policy{}, func(ctx context.Context, _ string) (string, error) {
		started := make(chan struct{})
		group.Go(func() {
			for n := 0; ; n++ {
				if n == 1 {
					close(started)
				}
				_ = grpc.SetHeader(ctx, metadata.Pairs("x-n", fmt.Sprint(n)))
				_ = grpc.SetTrailer(ctx, metadata.Pairs("x-n", fmt.Sprint(n)))
				_ = grpc.SendHeader(ctx, metadata.Pairs("x-sent", fmt.Sprint(n)))
				interlockgrpc.Settle(ctx, interlockgrpc.Unknown)
				interlockgrpc.Settle(ctx, interlockgrpc.Kept)
				select {
				case <-stop:
					return
				default:
				}
			}
		})
		<-started
		interlockgrpc.Settle(ctx, interlockgrpc.Kept)
		return "done", nil
	})
	first := call(t, conn, create, "tea", key, "k")
	for range 20 {
		if r := call(t, conn, create, "tea", key, "k"); r.reason() == "" && (!r.replayed() || len(r.trailer.Get("x-n")) != len(first.trailer.Get("x-n"))) {
			t.Errorf("got %+v, first %+v", r, first)
		}
	}
	close(stop)
	group.Wait()
}

// A guard that is closed during a storm refuses the waiting calls, and settles the running one.
func TestCloseDuringAStorm(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	entered, leave := make(chan struct{}), make(chan struct{})
	client := newClient(t)
	g := once(t, client, guard.Policy{OnDuplicate: guard.Wait, Wait: time.Minute})
	conn := serve(t, orders(func(ctx context.Context, text string) (string, error) {
		close(entered)
		<-leave
		return echo(runs)(ctx, text)
	}, nil), grpc.ChainUnaryInterceptor(g.Unary))
	const n = 50
	replies := make(chan reply, n)
	for range n {
		go func() { replies <- call(t, conn, create, "tea", key, "k") }()
	}
	<-entered
	closed := make(chan error, 1)
	go func() { closed <- g.Close(context.Background()) }()
	close(leave)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for range n {
		if r := <-replies; r.err != nil && r.reason() != "closing" || r.err == nil && r.text != "tea 1" {
			t.Errorf("got %+v", r)
		}
	}
	runs.Once()
}

// A stream is not sent to a unary guard, and a path without its slash reaches no method.
func TestPathsThatClientsInvent(t *testing.T) {
	runs := interlocktest.Count(t, "watching")
	lock, err := interlockgrpc.Lock(newClient(t), "watch", interlockgrpc.Metadata(key), interlockgrpc.Methods(watch))
	if err != nil {
		t.Fatal(err)
	}
	conn := serve(t, orders(nil, func(ss grpc.ServerStream) error { runs.Mark(); return nil }), grpc.ChainStreamInterceptor(lock.Stream))
	for _, path := range []string{"shop.Orders/Watch", "//shop.Orders/Watch", "/shop.Orders//Watch", "/shop.Orders/Watch/", "/SHOP.Orders/Watch", watch} {
		s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, path)
		if err != nil {
			continue
		}
		if err := s.RecvMsg(new(wrapperspb.StringValue)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	runs.Never()
}

// Each of two different guards in one chain settles its own claim.
func TestNestedGuards(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	client := newClient(t)
	fail := true
	conn := serve(t, orders(func(ctx context.Context, text string) (string, error) {
		if fail {
			runs.Mark()
			return "", status.Error(codes.Unavailable, "bank")
		}
		return echo(runs)(ctx, text)
	}, nil), grpc.ChainUnaryInterceptor(once(t, client, guard.Policy{Name: "outer", OnUnknown: guard.Rerun}).Unary, once(t, client, guard.Policy{Name: "inner"}).Unary))
	call(t, conn, create, "tea", key, "k").is(t, codes.Unavailable, "")
	fail = false
	for range 2 {
		call(t, conn, create, "tea", key, "k").is(t, codes.FailedPrecondition, "outcome_unknown")
	}
	runs.Once()
	for i := range 2 {
		call(t, conn, create, "tea", key, "k2").succeeded(t, "tea 2", i > 0)
	}
}

// A reply of another server is kept with all that its status says.
func TestAStatusIsReplayedWhole(t *testing.T) {
	whole, err := status.New(codes.Internal, "half\ndone ✓ %20").WithDetails(
		&errdetails.RetryInfo{}, &errdetails.ErrorInfo{Domain: "shop", Reason: "A"}, &errdetails.ErrorInfo{Domain: "shop", Reason: "B", Metadata: map[string]string{"x": "1", "y": "2"}}, wrapperspb.String("more"))
	if err != nil {
		t.Fatal(err)
	}
	conn := serveGuarded(t, guard.Policy{}, func(ctx context.Context, _ string) (string, error) {
		_ = grpc.SetHeader(ctx, metadata.Pairs("x-raw-bin", "\x00", "x-raw-bin", "\xff", "x-empty", ""))
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-raw-bin", "\x00\x00", "x-a", "1", "x-a", "2"))
		return "", fmt.Errorf("charge: %w", whole.Err())
	})
	first, again := call(t, conn, create, "tea", key, "k"), call(t, conn, create, "tea", key, "k")
	if a, b := status.Convert(first.err).Proto(), status.Convert(again.err).Proto(); !proto.Equal(a, b) || !again.replayed() {
		t.Errorf("got %v, first %v", b, a)
	}
	for _, name := range []string{"x-raw-bin", "x-empty"} {
		if !reflect.DeepEqual(first.header.Get(name), again.header.Get(name)) {
			t.Errorf("%s: %q, first %q", name, again.header.Get(name), first.header.Get(name))
		}
	}
	if !reflect.DeepEqual(first.trailer, again.trailer) {
		t.Errorf("trailer: %v, first %v", again.trailer, first.trailer)
	}
}

// The client's own limits and cancellations do not make a second effect.
func TestClientsThatGiveUpAndRetry(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	conn := serveGuarded(t, guard.Policy{OnDuplicate: guard.Wait, Wait: time.Minute}, echo(runs))
	for _, opt := range []grpc.CallOption{grpc.MaxCallRecvMsgSize(1), grpc.MaxCallSendMsgSize(1), grpc.UseCompressor("gzip"), grpc.EmptyCallOption{}} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), key, "k")
		_ = conn.Invoke(ctx, create, wrapperspb.String("tea"), new(wrapperspb.StringValue), opt)
		canceled, cancel := context.WithTimeout(ctx, time.Millisecond)
		_ = conn.Invoke(canceled, create, wrapperspb.String("tea"), new(wrapperspb.StringValue), opt)
		cancel()
	}
	call(t, conn, create, "tea", key, "k").succeeded(t, "tea 1", true)
	runs.Once()
}

// The handler may change the message that it got: the fingerprint is older.
func TestAHandlerMayChangeItsMessage(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	change := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		req.(*wrapperspb.StringValue).Value += "!"
		return next(ctx, req)
	}
	g := once(t, newClient(t), guard.Policy{})
	conn := serve(t, orders(echo(runs), nil), grpc.ChainUnaryInterceptor(g.Unary, change, g.Unary))
	for i := range 2 {
		call(t, conn, create, "tea", key, "k").succeeded(t, "tea! 1", i > 0)
	}
	call(t, conn, create, "tea!", key, "k").is(t, codes.FailedPrecondition, "key_reused")
	runs.Once()
}

// A bank executes the first try, whose reply is lost, and refuses the second one before its
// guard, for instance because a token has expired. The handler does not know the outcome.
func TestARefusedRetryDoesNotSayThatNothingWasDone(t *testing.T) {
	for _, refusal := range []codes.Code{codes.ResourceExhausted, codes.Unauthenticated, codes.PermissionDenied} {
		t.Run(refusal.String(), func(t *testing.T) {
			charges := interlocktest.Count(t, "charging")
			var tries atomic.Int32
			flaky := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				switch tries.Add(1) {
				case 1:
					_, _ = next(ctx, req)
					return nil, status.Error(codes.Unavailable, "the connection broke")
				case 2:
					return nil, status.Error(refusal, "not now")
				}
				return next(ctx, req)
			}
			address := serve(t, orders(echo(charges), nil), grpc.ChainUnaryInterceptor(flaky, once(t, newClient(t), guard.Policy{}).Unary)).Target()
			bank := dial(t, address, grpc.WithUnaryInterceptor(interlockgrpc.UnaryClientInterceptor(interlockgrpc.Backoff(time.Millisecond, time.Millisecond))))
			conn := serveGuarded(t, guard.Policy{}, func(ctx context.Context, _ string) (string, error) {
				return "", bank.Invoke(ctx, pay, wrapperspb.String("tea"), new(wrapperspb.StringValue))
			})
			call(t, conn, create, "tea", key, "k").is(t, refusal, "")
			call(t, conn, create, "tea", key, "k").is(t, codes.FailedPrecondition, "outcome_unknown")
			charges.Once()
		})
	}
}

// A lock that is twice in one chain is acquired once, as a guard is.
func TestALockTwiceInAChain(t *testing.T) {
	lock, err := interlockgrpc.Lock(newClient(t), "pay", interlockgrpc.Metadata(key))
	if err != nil {
		t.Fatal(err)
	}
	limit, err := interlockgrpc.Limit(newClient(t), "pays", 1, interlock.Sliding(time.Hour), interlockgrpc.Metadata(key))
	if err != nil {
		t.Fatal(err)
	}
	runs := interlocktest.Count(t, "paying")
	g := once(t, newClient(t), guard.Policy{})
	conn := serve(t, orders(func(ctx context.Context, text string) (string, error) {
		if !interlockgrpc.Settle(ctx, interlockgrpc.Kept) {
			t.Error("Settle does not reach the guard")
		}
		return echo(runs)(ctx, text)
	}, nil), grpc.ChainUnaryInterceptor(g.Unary, lock.Unary, limit.Unary, lock.Unary, limit.Unary, g.Unary))
	for i := range 2 {
		call(t, conn, pay, "tea", key, "k").succeeded(t, "tea 1", i > 0)
	}
}
