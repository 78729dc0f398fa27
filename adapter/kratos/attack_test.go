package interlockkratos_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/go-kratos/kratos/v2/errors"
	"github.com/go-kratos/kratos/v2/middleware"
	"github.com/go-kratos/kratos/v2/transport"
	khttp "github.com/go-kratos/kratos/v2/transport/http"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock/adapter/kratos"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

// A fakeCall is a gRPC call of an operation.
type fakeCall struct {
	operation     string
	header, reply http.Header
}

func (c fakeCall) Kind() transport.Kind            { return transport.KindGRPC }
func (c fakeCall) Endpoint() string                { return "" }
func (c fakeCall) Operation() string               { return c.operation }
func (c fakeCall) RequestHeader() transport.Header { return carrier{c.header} }
func (c fakeCall) ReplyHeader() transport.Header   { return carrier{c.reply} }

type carrier struct{ http.Header }

func (c carrier) Values(name string) []string { return c.Header.Values(name) }
func (c carrier) Keys() (names []string) {
	for name := range c.Header {
		names = append(names, name)
	}
	return names
}

// Only the services of health checks, reflection and kratos itself need no key.
func TestNamesThatLookLikeHealthChecksAreGuarded(t *testing.T) {
	served := once(t, newClient(t), guard.Policy{})(func(context.Context, any) (any, error) { return wrapperspb.String(""), nil })
	for operation, guarded := range map[string]bool{
		"/grpc.health.v1.Health/Check":        false,
		"/kratos.api.Metadata/ListServices":   false,
		"/kratos.api.Orders/Create":           true,
		"/kratos.api.shop.v1.Orders/Create":   true,
		"/grpc.health.v1.Orders/Create":       true,
		"/grpc.reflection.shop.Orders/Create": true,
	} {
		_, err := served(transport.NewServerContext(t.Context(), fakeCall{operation, http.Header{}, http.Header{}}), wrapperspb.String("tea"))
		if refused := errors.Reason(err) == "key_missing"; refused != guarded {
			t.Errorf("%s: guarded: %v, want %v (%v)", operation, refused, guarded, err)
		}
	}
}

// A service that is spelled wrongly would leave the operation unguarded.
func TestAMisspelledServiceIsRefused(t *testing.T) {
	for _, name := range []string{"/shop.Order/Create", "/shop.orders/Create"} {
		if _, err := interlockkratos.Once(newClient(t), guard.Policy{Name: "order"}, interlockkratos.User(user), interlockkratos.Operations(name)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// The error of another service says that it may have executed the call.
func TestErrorsOfOtherServicesThatMayHaveRun(t *testing.T) {
	for name, upstream := range map[string]error{
		"a reply that is too large": status.Error(codes.ResourceExhausted, "grpc: received message larger than max (6 vs. 5)"),
		"an unknown outcome":        errors.New(400, "outcome_unknown", "").WithMetadata(map[string]string{"same_key": "false"}),
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, newCaller newCaller) {
				runs := interlocktest.Count(t, "charging")
				call := newCaller(func(context.Context, string) (string, error) {
					runs.Mark()
					return "", upstream
				}, once(t, newClient(t), guard.Policy{}))
				call(t.Context(), create, "tea", key, "k")
				call(t.Context(), create, "tea", key, "k").is(t, 409, codes.FailedPrecondition, "outcome_unknown")
				runs.Once()
			})
		})
	}
}

// A repeat gets the same status over gRPC, and the same error over HTTP.
func TestAnErrorIsReplayedAsItWas(t *testing.T) {
	detailed, _ := status.New(codes.DataLoss, "half done").WithDetails(
		&errdetails.ErrorInfo{Reason: "HALF", Domain: "shop", Metadata: map[string]string{"a": "b"}}, &errdetails.BadRequest{})
	onBoth(t, func(t *testing.T, newCaller newCaller) {
		for name, failed := range map[string]error{
			"a status":                 detailed.Err(),
			"a status of its own code": status.Error(codes.FailedPrecondition, "no"),
			"a wrapped status":         fmt.Errorf("charge: %w", detailed.Err()),
			"a plain error":            fmt.Errorf("no"),
			"an error of kratos":       errors.New(422, "ODD", "no").WithMetadata(map[string]string{"a": "b"}),
			"a wrapped one of kratos":  fmt.Errorf("charge: %w", errors.Conflict("TWICE", "no")),
		} {
			call := newCaller(func(context.Context, string) (string, error) { return "", failed }, once(t, newClient(t), guard.Policy{OnError: guard.Keep}))
			first, again := call(t.Context(), create, "tea", key, "k"), call(t.Context(), create, "tea", key, "k")
			if a, b := status.Convert(first.err).Proto().String(), status.Convert(again.err).Proto().String(); a != b {
				t.Errorf("%s: got %s, first %s", name, b, a)
			}
			if a, b := errors.FromError(first.err), errors.FromError(again.err); a.Code != b.Code || a.Reason != b.Reason || a.Message != b.Message || !reflect.DeepEqual(a.Metadata, b.Metadata) {
				t.Errorf("%s: got %v, first %v", name, b, a)
			}
		}
	})
}

// The variables of a path belong to the call if a handler was not generated.
func TestPathsOfHandlersAreOtherCalls(t *testing.T) {
	runs := interlocktest.Count(t, "paying")
	server := khttp.NewServer(khttp.Address("127.0.0.1:0"), khttp.Middleware(once(t, newClient(t), guard.Policy{})))
	server.Route("/").POST("/orders/{id}/pay", func(ctx khttp.Context) error {
		in := new(wrapperspb.StringValue)
		if err := ctx.Bind(in); err != nil {
			return err
		}
		out, err := ctx.Middleware(func(context.Context, any) (any, error) {
			runs.Mark()
			return wrapperspb.String(ctx.Vars().Get("id")), nil
		})(ctx, in)
		if err != nil {
			return err
		}
		return ctx.Result(200, out)
	})
	url, err := server.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	start(t, server)
	for i, c := range []struct {
		path string
		code int
	}{{"/orders/1/pay", 200}, {"/orders/2/pay", 422}, {"/orders/1/pay?all=true", 422}, {"/orders/1/pay", 200}} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url.String()+c.path, strings.NewReader(`"now"`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(key, "k")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.code {
			t.Errorf("call %d, %s: got %d, want %d", i, c.path, resp.StatusCode, c.code)
		}
	}
	runs.Once()
}

// A key that the program has set for a call is the only one.
func TestTheClientKeepsTheKeyOfACall(t *testing.T) {
	for kind, serve := range transports {
		t.Run(kind, func(t *testing.T) {
			runs := interlocktest.Count(t, "creating")
			call := serve(t, echo(runs), []middleware.Middleware{once(t, newClient(t), guard.Policy{})}, interlockkratos.Client())
			call(t.Context(), create, "tea", key, "mine").succeeded(t, "tea 1", false)
			call(t.Context(), create, "tea", key, "mine").succeeded(t, "tea 1", true)
			call(interlockkratos.WithKey(t.Context(), "mine"), create, "tea").succeeded(t, "tea 1", true)
			runs.Once()
		})
	}
}
