package interlockkratos_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-kratos/kratos/v2/errors"
	"github.com/go-kratos/kratos/v2/middleware"
	"github.com/go-kratos/kratos/v2/middleware/recovery"
	"github.com/go-kratos/kratos/v2/transport"
	kgrpc "github.com/go-kratos/kratos/v2/transport/grpc"
	khttp "github.com/go-kratos/kratos/v2/transport/http"
	"github.com/go-kratos/kratos/v2/transport/http/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/kratos"
	"github.com/interlock-go/interlock/guard"
)

// The operations of the test service, which protoc would have generated.
const (
	create = "/shop.Orders/Create"
	pay    = "/shop.Orders/Pay"
	get    = "/shop.Orders/Get" // a GET over HTTP, and without side effects
	watch  = "/shop.Orders/Watch"
)

// registered describes the service, as generated code does.
var registered = func() error {
	message := new(".google.protobuf.StringValue")
	method := func(name string, stream bool, level descriptorpb.MethodOptions_IdempotencyLevel) *descriptorpb.MethodDescriptorProto {
		return &descriptorpb.MethodDescriptorProto{Name: &name, InputType: message, OutputType: message, ServerStreaming: &stream, ClientStreaming: &stream,
			Options: &descriptorpb.MethodOptions{IdempotencyLevel: &level}}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("shop.proto"), Package: new("shop"), Syntax: new("proto3"),
		Dependency: []string{"google/protobuf/wrappers.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("Orders"), Method: []*descriptorpb.MethodDescriptorProto{
			method("Create", false, descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN),
			method("Pay", false, descriptorpb.MethodOptions_IDEMPOTENT),
			method("Get", false, descriptorpb.MethodOptions_NO_SIDE_EFFECTS),
			method("Watch", true, descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN),
		}}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		return err
	}
	return protoregistry.GlobalFiles.RegisterFile(file)
}()

// A handler serves all operations of the test service.
type handler func(ctx context.Context, text string) (string, error)

func (h handler) serve(ctx context.Context, req any) (any, error) {
	out, err := h(ctx, req.(*wrapperspb.StringValue).GetValue())
	if err != nil {
		return nil, err
	}
	return wrapperspb.String(out), nil
}

// httpServer is a server of the test service, as generated code registers it.
func httpServer(h handler, opts ...khttp.ServerOption) *khttp.Server {
	server := khttp.NewServer(append([]khttp.ServerOption{khttp.Address("127.0.0.1:0")}, opts...)...)
	route := func(operation string, bind func(khttp.Context, any) error) khttp.HandlerFunc {
		return func(ctx khttp.Context) error {
			in := new(wrapperspb.StringValue)
			if err := bind(ctx, in); err != nil {
				return err
			}
			khttp.SetOperation(ctx, operation)
			out, err := ctx.Middleware(h.serve)(ctx, in)
			if err != nil {
				return err
			}
			return ctx.Result(200, out)
		}
	}
	body := func(ctx khttp.Context, in any) error { return ctx.Bind(in) }
	none := func(khttp.Context, any) error { return nil }
	r := server.Route("/")
	r.POST("/orders", route(create, body))
	r.POST("/payments", route(pay, body))
	r.GET("/orders", route(get, none))
	return server
}

// grpcServer is the same server for gRPC.
func grpcServer(h handler, opts ...kgrpc.ServerOption) *kgrpc.Server {
	server := kgrpc.NewServer(append([]kgrpc.ServerOption{kgrpc.Address("127.0.0.1:0")}, opts...)...)
	method := func(name string) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.StringValue)
			if err := decode(in); err != nil {
				return nil, err
			}
			return interceptor(ctx, in, &grpc.UnaryServerInfo{FullMethod: "/shop.Orders/" + name}, h.serve)
		}}
	}
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "shop.Orders", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{method("Create"), method("Pay"), method("Get")}}, nil)
	return server
}

// A reply is all that a client sees of a call.
type reply struct {
	text   string
	header func(name string) string
	err    error
}

// A caller makes calls over one of the transports, with header fields in pairs.
type caller func(ctx context.Context, operation, text string, pairs ...string) reply

// transports serve a handler behind middlewares, for a client with other ones.
var transports = map[string]func(t testing.TB, h handler, ms []middleware.Middleware, clients ...middleware.Middleware) caller{"http": serveHTTP, "grpc": serveGRPC}

// onBoth runs a test over both transports, with these middlewares.
func onBoth(t *testing.T, test func(t *testing.T, newCaller func(h handler, ms ...middleware.Middleware) caller)) {
	if registered != nil {
		t.Fatal(registered)
	}
	for kind, serve := range transports {
		t.Run(kind, func(t *testing.T) {
			test(t, func(h handler, ms ...middleware.Middleware) caller {
				return serve(t, h, append([]middleware.Middleware{recovery.Recovery()}, ms...))
			})
		})
	}
}

func start(t testing.TB, s transport.Server) {
	served := make(chan error, 1)
	go func() { served <- s.Start(context.Background()) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func serveHTTP(t testing.TB, h handler, ms []middleware.Middleware, clients ...middleware.Middleware) caller {
	server := httpServer(h, khttp.Middleware(ms...), khttp.Timeout(time.Minute))
	url, err := server.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	start(t, server)
	return httpCaller(t, url.Host, clients...)
}

func httpCaller(t testing.TB, address string, clients ...middleware.Middleware) caller {
	client, err := khttp.NewClient(context.Background(), khttp.WithEndpoint(address), khttp.WithTimeout(time.Minute), khttp.WithMiddleware(clients...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return func(ctx context.Context, operation, text string, pairs ...string) (r reply) {
		method, path := "POST", map[string]string{create: "/orders", pay: "/payments", get: "/orders"}[operation]
		var in any = wrapperspb.String(text)
		if operation == get {
			method, in = "GET", nil
		}
		header := make(http.Header)
		for i := 0; i < len(pairs); i += 2 {
			header.Add(pairs[i], pairs[i+1])
		}
		out := new(wrapperspb.StringValue)
		r.err = client.Invoke(ctx, method, path, in, out, khttp.Operation(operation), khttp.Header(&header))
		r.text, r.header = out.GetValue(), header.Get // of the response, unless the call failed
		return r
	}
}

func serveGRPC(t testing.TB, h handler, ms []middleware.Middleware, clients ...middleware.Middleware) caller {
	server := grpcServer(h, kgrpc.Middleware(ms...), kgrpc.Timeout(time.Minute))
	url, err := server.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	start(t, server)
	return grpcCaller(t, url.Host, clients...)
}

func grpcCaller(t testing.TB, address string, clients ...middleware.Middleware) caller {
	conn, err := kgrpc.DialInsecure(context.Background(), kgrpc.WithEndpoint(address), kgrpc.WithTimeout(time.Minute), kgrpc.WithMiddleware(clients...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return func(ctx context.Context, operation, text string, pairs ...string) (r reply) {
		out, header := new(wrapperspb.StringValue), metadata.MD{}
		r.err = conn.Invoke(metadata.AppendToOutgoingContext(ctx, pairs...), operation, wrapperspb.String(text), out, grpc.Header(&header))
		r.text, r.header = out.GetValue(), func(name string) string {
			if values := header.Get(name); len(values) > 0 {
				return values[0]
			}
			return ""
		}
		return r
	}
}

const key = "Idempotency-Key"

func newClient(t testing.TB) *interlock.Client {
	client := interlock.New(nil)
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	return client
}

func once(t testing.TB, client *interlock.Client, p guard.Policy, opts ...interlockkratos.Option) middleware.Middleware {
	t.Helper()
	if p.Name == "" {
		p.Name = "order"
	}
	g, err := interlockkratos.Once(client, p, append([]interlockkratos.Option{interlockkratos.User(user)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return g.Server
}

// user stands for a middleware that authenticates the caller.
func user(ctx context.Context) string {
	if tr, ok := transport.FromServerContext(ctx); ok {
		if name := tr.RequestHeader().Get("User"); name != "" {
			return name
		}
	}
	return "anna"
}

// is fails the test unless the call was refused with that reason, and with that status over
// HTTP or gRPC.
func (r reply) is(t testing.TB, code int, grpcCode codes.Code, reason string) {
	t.Helper()
	e := errors.FromError(r.err)
	want := code
	if strings.HasSuffix(t.Name(), "/grpc") || strings.Contains(t.Name(), "/grpc/") {
		want = status.FromGRPCCode(grpcCode)
	}
	if r.err == nil || int(e.Code) != want || e.Reason != reason {
		t.Errorf("got %v; want %d with reason %q", r.err, want, reason)
	}
}

// succeeded fails the test unless the call got that reply.
func (r reply) succeeded(t testing.TB, text string, replayed bool) {
	t.Helper()
	if r.err != nil || r.text != text || (r.header("Idempotent-Replayed") == "true") != replayed {
		t.Errorf("got %q, %v, replayed: %q; want %q, replayed: %v", r.text, r.err, r.header("Idempotent-Replayed"), text, replayed)
	}
}
