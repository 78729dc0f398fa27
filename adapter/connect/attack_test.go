package interlockconnect_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock/adapter/connect"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

// Only the services of health checks and reflection themselves need no key.
func TestNamesThatLookLikeHealthChecksAreGuarded(t *testing.T) {
	for procedure, guarded := range map[string]bool{
		"/grpc.health.v1.Health/Check":        false,
		"/grpc.health.v1.Orders/Create":       true,
		"/grpc.reflection.shop.Orders/Create": true,
	} {
		server := httptest.NewServer(connect.NewUnaryHandler(procedure, echo(interlocktest.Count(t, "creating")), connect.WithInterceptors(once(t, newClient(t), guard.Policy{}))))
		defer server.Close()
		_, err := connect.NewClient[text, text](http.DefaultClient, server.URL+procedure).CallUnary(t.Context(), connect.NewRequest(wrapperspb.String("tea")))
		if refused := connect.CodeOf(err) == connect.CodeInvalidArgument; refused != guarded {
			t.Errorf("%s: guarded: %v, want %v (%v)", procedure, refused, guarded, err)
		}
	}
}

// A service that is spelled wrongly would leave the procedure unguarded.
func TestAMisspelledServiceIsRefused(t *testing.T) {
	for _, name := range []string{"/shop.Order/Create", "/shop.orders/Create"} {
		if _, err := interlockconnect.Once(newClient(t), guard.Policy{Name: "order"}, interlockconnect.User(user), interlockconnect.Procedures(name)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// The error of another service says that it may have executed the call.
func TestErrorsOfOtherServicesThatMayHaveRun(t *testing.T) {
	bank := serve(t, echo(interlocktest.Count(t, "charging"))).caller(t, connect.WithReadMaxBytes(1))
	held := connect.NewError(connect.CodeFailedPrecondition, errors.New("unknown"))
	if d, err := connect.NewErrorDetail(&errdetails.ErrorInfo{Domain: "interlock", Reason: "outcome_unknown"}); err != nil {
		t.Fatal(err)
	} else {
		held.AddDetail(d)
	}
	for name, upstream := range map[string]func() error{
		"a reply that is too large": func() error { return bank(pay, strings.Repeat("x", 1000)).err },
		"an unknown outcome":        func() error { return held },
	} {
		t.Run(name, func(t *testing.T) {
			runs := interlocktest.Count(t, "creating")
			call := serve(t, func(context.Context, *connect.Request[text]) (*connect.Response[text], error) {
				runs.Mark()
				return nil, upstream()
			}, once(t, newClient(t), guard.Policy{})).caller(t)
			call(create, "tea", key, "k")
			call(create, "tea", key, "k").is(t, connect.CodeFailedPrecondition, "outcome_unknown")
			runs.Once()
		})
	}
}

// A failed call has header and trailer, too.
func TestAnErrorIsReplayedWithHeaderAndTrailer(t *testing.T) {
	onAll(t, func(t *testing.T, protocol connect.ClientOption) {
		call := serve(t, func(ctx context.Context, _ *connect.Request[text]) (*connect.Response[text], error) {
			info, _ := connect.CallInfoForHandlerContext(ctx)
			info.ResponseHeader().Set("X-Info", "1")
			info.ResponseTrailer().Set("X-Cost", "1")
			err := connect.NewError(connect.CodeInternal, errors.New("half done"))
			err.Meta().Add("X-Meta", "1")
			err.Meta().Add("X-Meta-Bin", connect.EncodeBinaryHeader([]byte{0, 255}))
			return nil, err
		}, once(t, newClient(t), guard.Policy{})).caller(t, protocol)
		first, again := call(create, "tea", key, "k"), call(create, "tea", key, "k")
		if !again.replayed() || connect.CodeOf(again.err) != connect.CodeInternal {
			t.Errorf("got %+v", again)
		}
		for name, values := range first.header {
			if strings.Contains(name, "X-") && !reflect.DeepEqual(again.header[name], values) {
				t.Errorf("%s: got %q, first %q", name, again.header[name], values)
			}
		}
	})
}

// An outer interceptor sets a field, and the handler adds a value to it.
func TestAFieldOfAnOuterInterceptorIsNotSentTwice(t *testing.T) {
	outer := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			info, _ := connect.CallInfoForHandlerContext(ctx)
			info.ResponseHeader().Add("X-Path", "outer")
			return next(ctx, req)
		}
	})
	call := serve(t, func(ctx context.Context, req *connect.Request[text]) (*connect.Response[text], error) {
		info, _ := connect.CallInfoForHandlerContext(ctx)
		info.ResponseHeader().Add("X-Path", "handler")
		return connect.NewResponse(req.Msg), nil
	}, outer, once(t, newClient(t), guard.Policy{})).caller(t)
	for range 2 {
		if r := call(create, "tea", key, "k"); !reflect.DeepEqual(r.header["X-Path"], []string{"outer", "handler"}) {
			t.Errorf("got %q", r.header["X-Path"])
		}
	}
}

// A program that uses one request for two calls makes two operations.
func TestARequestThatIsUsedAgainIsANewCall(t *testing.T) {
	runs := interlocktest.Count(t, "creating")
	s := serve(t, echo(runs), once(t, newClient(t), guard.Policy{}))
	client := connect.NewClient[text, text](s.Client(), s.URL+create, connect.WithInterceptors(interlockconnect.ClientInterceptor()))
	req := connect.NewRequest(wrapperspb.String("tea"))
	for range 2 {
		if _, err := client.CallUnary(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	runs.Times(2)
	ctx := interlockconnect.WithKey(t.Context(), "mine")
	for range 2 {
		if _, err := client.CallUnary(ctx, req); err != nil {
			t.Fatal(err)
		}
	}
	runs.Times(3)
	req.Header().Set(key, "ours")
	for range 2 {
		if _, err := client.CallUnary(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	runs.Times(4)
}

// connect gives the errors of contexts codes of their own.
func TestTheErrorOfAContextIsReplayedAsItWas(t *testing.T) {
	for _, failed := range []error{context.Canceled, fmt.Errorf("bank: %w", context.DeadlineExceeded), os.ErrDeadlineExceeded, errors.New("no")} {
		call := serve(t, func(ctx context.Context, _ *connect.Request[text]) (*connect.Response[text], error) {
			interlockconnect.Settle(ctx, interlockconnect.Kept)
			return nil, failed
		}, once(t, newClient(t), guard.Policy{})).caller(t)
		first, again := call(create, "tea", key, "k"), call(create, "tea", key, "k")
		if connect.CodeOf(first.err) != connect.CodeOf(again.err) || first.err.Error() != again.err.Error() || !again.replayed() {
			t.Errorf("got %v, first %v", again.err, first.err)
		}
	}
}
