package interlockgrpc_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/grpc"
	"github.com/interlock-go/interlock/guard"
)

// The methods of the test service, which protoc would have generated.
const (
	create = "/shop.Orders/Create"
	pay    = "/shop.Orders/Pay"
	get    = "/shop.Orders/Get"   // has no side effects
	watch  = "/shop.Orders/Watch" // a stream
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

// A handler serves all unary methods of the test service.
type handler func(ctx context.Context, text string) (string, error)

// orders is the description of the test service.
func orders(unary handler, stream func(grpc.ServerStream) error) *grpc.ServiceDesc {
	method := func(name string) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.StringValue)
			if err := decode(in); err != nil {
				return nil, err
			}
			serve := func(ctx context.Context, req any) (any, error) {
				out, err := unary(ctx, req.(*wrapperspb.StringValue).GetValue())
				return wrapperspb.String(out), err
			}
			if interceptor == nil {
				return serve(ctx, in)
			}
			return interceptor(ctx, in, &grpc.UnaryServerInfo{FullMethod: "/shop.Orders/" + name}, serve)
		}}
	}
	return &grpc.ServiceDesc{
		ServiceName: "shop.Orders", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{method("Create"), method("Pay"), method("Get")},
		Streams: []grpc.StreamDesc{{StreamName: "Watch", ServerStreams: true, ClientStreams: true, Handler: func(_ any, ss grpc.ServerStream) error { return stream(ss) }}},
	}
}

// serve runs a server of the test service on a free port until the test ends.
func serve(t testing.TB, d *grpc.ServiceDesc, opts ...grpc.ServerOption) *grpc.ClientConn {
	t.Helper()
	if registered != nil {
		t.Fatal(registered)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(opts...)
	server.RegisterService(d, nil)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return dial(t, listener.Addr().String())
}

func dial(t testing.TB, address string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// serveGuarded serves a handler behind a guard of a new client.
func serveGuarded(t testing.TB, p guard.Policy, unary handler, opts ...interlockgrpc.Option) *grpc.ClientConn {
	t.Helper()
	return serve(t, orders(unary, nil), grpc.ChainUnaryInterceptor(recovery, once(t, newClient(t), p, opts...).Unary))
}

func newClient(t testing.TB) *interlock.Client {
	client := interlock.New(nil)
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	return client
}

func once(t testing.TB, client *interlock.Client, p guard.Policy, opts ...interlockgrpc.Option) *interlockgrpc.Guard {
	t.Helper()
	if p.Name == "" {
		p.Name = "order"
	}
	g, err := interlockgrpc.Once(client, p, append([]interlockgrpc.Option{interlockgrpc.User(user)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// user stands for an interceptor that authenticates the caller.
func user(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	if values := md.Get("user"); len(values) > 0 {
		return values[0]
	}
	return "anna"
}

// recovery turns a panic into INTERNAL, as servers do.
func recovery(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = status.Error(codes.Internal, fmt.Sprint(p))
		}
	}()
	return next(ctx, req)
}

// A reply is all that a client sees of a call.
type reply struct {
	text            string
	header, trailer metadata.MD
	err             error
}

// call makes one call with metadata, in pairs.
func call(t testing.TB, conn *grpc.ClientConn, method, text string, pairs ...string) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return callWith(ctx, conn, method, text, pairs...)
}

func callWith(ctx context.Context, conn *grpc.ClientConn, method, text string, pairs ...string) (r reply) {
	out := new(wrapperspb.StringValue)
	ctx = metadata.AppendToOutgoingContext(ctx, pairs...)
	r.err = conn.Invoke(ctx, method, wrapperspb.String(text), out, grpc.Header(&r.header), grpc.Trailer(&r.trailer))
	r.text = out.GetValue()
	return r
}

const key = "idempotency-key"

// info returns our ErrorInfo; nil without one.
func (r reply) info() *errdetails.ErrorInfo {
	for _, d := range status.Convert(r.err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == "interlock" {
			return info
		}
	}
	return nil
}

// reason returns the reason of our ErrorInfo; "" without one.
func (r reply) reason() string { return r.info().GetReason() }

func (r reply) retryDelay() time.Duration {
	for _, d := range status.Convert(r.err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// is fails the test unless the call was refused with that code and reason.
func (r reply) is(t testing.TB, code codes.Code, reason string) {
	t.Helper()
	if status.Code(r.err) != code || r.reason() != reason {
		t.Errorf("got %v with reason %q; want %v with %q", r.err, r.reason(), code, reason)
	}
}

// succeeded fails the test unless the call got that reply.
func (r reply) succeeded(t testing.TB, text string, replayed bool) {
	t.Helper()
	if r.err != nil || r.text != text || r.replayed() != replayed {
		t.Errorf("got %q, %v, replayed: %v; want %q, replayed: %v", r.text, r.err, r.replayed(), text, replayed)
	}
}

func (r reply) replayed() bool { return r.value("idempotent-replayed") == "true" }

func (r reply) value(name string) string {
	if values := r.header.Get(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

type stringValue = wrapperspb.StringValue
