package interlockconnect_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/connect"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

// The procedures of the test service, which protoc would have generated.
const (
	create = "/shop.Orders/Create"
	pay    = "/shop.Orders/Pay"
	get    = "/shop.Orders/Get"   // has no side effects
	watch  = "/shop.Orders/Watch" // a stream
)

// registered describes the service, as generated code does.
var registered = func() error {
	message := new(".google.protobuf.StringValue")
	method := func(name string, stream bool) *descriptorpb.MethodDescriptorProto {
		return &descriptorpb.MethodDescriptorProto{Name: &name, InputType: message, OutputType: message, ServerStreaming: &stream}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("shop.proto"), Package: new("shop"), Syntax: new("proto3"),
		Dependency: []string{"google/protobuf/wrappers.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("Orders"), Method: []*descriptorpb.MethodDescriptorProto{
			method("Create", false), method("Pay", false), method("Get", false), method("Watch", true),
		}}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		return err
	}
	return protoregistry.GlobalFiles.RegisterFile(file)
}()

type text = wrapperspb.StringValue

// A handler serves all unary procedures of the test service.
type handler func(ctx context.Context, req *connect.Request[text]) (*connect.Response[text], error)

// echo counts its runs, and sets a header and a trailer in both ways.
func echo(runs *interlocktest.Counter) handler {
	return func(ctx context.Context, req *connect.Request[text]) (*connect.Response[text], error) {
		runs.Mark()
		n := fmt.Sprint(runs.N())
		resp := connect.NewResponse(wrapperspb.String(req.Msg.GetValue() + " " + n))
		resp.Header().Set("X-Order", n)
		resp.Trailer().Set("X-Cost", n)
		if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
			info.ResponseHeader().Set("X-Info", n)
			info.ResponseTrailer().Set("X-Info-Cost", n)
		}
		return resp, nil
	}
}

// service returns the handler of the test service.
func service(h handler, interceptors ...connect.Interceptor) http.Handler {
	mux := http.NewServeMux()
	chain := connect.WithInterceptors(interceptors...)
	for _, procedure := range []string{create, pay} {
		mux.Handle(procedure, connect.NewUnaryHandler(procedure, h, chain))
	}
	mux.Handle(get, connect.NewUnaryHandler(get, h, chain, connect.WithIdempotency(connect.IdempotencyNoSideEffects)))
	mux.Handle(watch, connect.NewServerStreamHandler(watch, func(_ context.Context, req *connect.Request[text], s *connect.ServerStream[text]) error {
		return s.Send(req.Msg)
	}, chain))
	return mux
}

// A server serves the test service over HTTP/2.
type server struct{ *httptest.Server }

func serve(t testing.TB, h handler, interceptors ...connect.Interceptor) *server {
	if registered != nil {
		t.Fatal(registered)
	}
	s := httptest.NewUnstartedServer(service(h, interceptors...))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return &server{s}
}

// protocols are the options of clients for each of the protocols.
var protocols = map[string][]connect.ClientOption{
	"connect":          nil,
	"connect and JSON": {connect.WithProtoJSON()},
	"grpc":             {connect.WithGRPC()},
	"grpc-web":         {connect.WithGRPCWeb()},
}

// onAll runs a test over each protocol.
func onAll(t *testing.T, test func(t *testing.T, protocol connect.ClientOption)) {
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) { test(t, connect.WithClientOptions(opts...)) })
	}
}

// A caller makes calls, with header fields in pairs.
type caller func(procedure, text string, pairs ...string) reply

func (s *server) caller(t testing.TB, opts ...connect.ClientOption) caller {
	return newCaller(t.Context(), s.Client(), s.URL, opts...)
}

func newCaller(ctx context.Context, client *http.Client, url string, opts ...connect.ClientOption) caller {
	return func(procedure, message string, pairs ...string) reply {
		if procedure == get {
			opts = append(opts, connect.WithIdempotency(connect.IdempotencyNoSideEffects))
		}
		req := connect.NewRequest(wrapperspb.String(message))
		for i := 0; i < len(pairs); i += 2 {
			req.Header().Add(pairs[i], pairs[i+1])
		}
		resp, err := connect.NewClient[text, text](client, url+procedure, opts...).CallUnary(ctx, req)
		if err != nil {
			r := reply{err: err}
			if e := new(connect.Error); errors.As(err, &e) {
				r.header = e.Meta()
			}
			return r
		}
		return reply{text: resp.Msg.GetValue(), header: resp.Header(), trailer: resp.Trailer()}
	}
}

// A reply is all that a client sees of a call.
type reply struct {
	text            string
	header, trailer http.Header
	err             error
}

const key = "Idempotency-Key"

// details returns the ErrorInfo and the RetryInfo of an error; nil without them.
func (r reply) details() (info *errdetails.ErrorInfo, retry *errdetails.RetryInfo) {
	if e := new(connect.Error); errors.As(r.err, &e) {
		for _, d := range e.Details() {
			switch value, _ := d.Value(); d := value.(type) {
			case *errdetails.ErrorInfo:
				info = d
			case *errdetails.RetryInfo:
				retry = d
			}
		}
	}
	return info, retry
}

// is fails the test unless the call was refused with that code and reason.
func (r reply) is(t testing.TB, code connect.Code, reason string) {
	t.Helper()
	if info, _ := r.details(); r.err == nil || connect.CodeOf(r.err) != code || info.GetReason() != reason {
		t.Errorf("got %v with %v; want %v with %q", r.err, info, code, reason)
	}
}

// succeeded fails the test unless the call got that reply.
func (r reply) succeeded(t testing.TB, text string, replayed bool) {
	t.Helper()
	if r.err != nil || r.text != text || r.replayed() != replayed {
		t.Errorf("got %q, %v, replayed: %v; want %q, replayed: %v", r.text, r.err, r.replayed(), text, replayed)
	}
}

func (r reply) replayed() bool { return r.header.Get("Idempotent-Replayed") == "true" }

func newClient(t testing.TB) *interlock.Client {
	client := interlock.New(nil)
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	return client
}

func once(t testing.TB, client *interlock.Client, p guard.Policy, opts ...interlockconnect.Option) *interlockconnect.Guard {
	t.Helper()
	if p.Name == "" {
		p.Name = "order"
	}
	g, err := interlockconnect.Once(client, p, append([]interlockconnect.Option{interlockconnect.User(user)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// user stands for an interceptor that authenticates the caller.
func user(ctx context.Context) string {
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		if name := info.RequestHeader().Get("User"); name != "" {
			return name
		}
	}
	return "anna"
}

// plainHTTP2 is a client for servers without TLS.
func plainHTTP2() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: protocols}}
}
