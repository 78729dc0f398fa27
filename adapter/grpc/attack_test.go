package interlockgrpc_test

import (
	"context"
	"fmt"
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
	"google.golang.org/protobuf/types/known/wrapperspb"

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
