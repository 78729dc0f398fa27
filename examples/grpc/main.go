// Program grpc places orders over gRPC, once per key. Its service is TestService, which comes
// with gRPC; yours is generated from your own .proto file.
//
//	go run ./examples/grpc
//
// The records are in this process. With the URL of a Redis, other processes share them:
//
//	INTERLOCK_URL=redis://localhost:6379 go run ./examples/grpc
//
// Output:
//
//	the first call: placed order 1
//	a repeat: placed order 1 (replayed)
//	another order, same key: FailedPrecondition, key_reused
//	without a key: InvalidArgument, key_missing
//	the handler fails, and nothing was done: InvalidArgument, no item
//	a repeat, corrected by the shop: placed order 2
//	the reply is lost, and the client repeats the call: placed order 3 (replayed)
//	orders: 3
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync/atomic"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/grpc"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run starts the server and makes the calls.
func run(ctx context.Context, w io.Writer) error {
	engine, err := openEngine(ctx)
	if err != nil {
		return err
	}
	client := interlock.New(engine)
	defer client.Close(ctx) //nolint:errcheck // the program ends

	orders, err := interlockgrpc.Once(client, guard.Policy{Name: "order"}, interlockgrpc.User(user))
	if err != nil {
		return err
	}
	lost := new(loss)
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(lost.intercept, orders.Unary))
	shop := new(shop)
	pb.RegisterTestServiceServer(server, shop)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = server.Serve(listener) }()
	defer server.GracefulStop()

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the program ends
	retrying, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(interlockgrpc.UnaryClientInterceptor()))
	if err != nil {
		return err
	}
	defer retrying.Close() //nolint:errcheck // the program ends

	key, other := interlockgrpc.NewKey(), interlockgrpc.NewKey()
	fmt.Fprintln(w, "the first call:", call(withKey(ctx, key), conn, "tea"))
	fmt.Fprintln(w, "a repeat:", call(withKey(ctx, key), conn, "tea"))
	fmt.Fprintln(w, "another order, same key:", call(withKey(ctx, key), conn, "coffee"))
	fmt.Fprintln(w, "without a key:", call(ctx, conn, "tea"))
	fmt.Fprintln(w, "the handler fails, and nothing was done:", call(withKey(ctx, other), conn, ""))
	shop.defaultItem = "tea"
	fmt.Fprintln(w, "a repeat, corrected by the shop:", call(withKey(ctx, other), conn, ""))
	lost.next.Store(true)
	fmt.Fprintln(w, "the reply is lost, and the client repeats the call:", call(ctx, retrying, "milk"))
	fmt.Fprintln(w, "orders:", shop.orders)
	return nil
}

// openEngine returns the engine of INTERLOCK_URL; nil for one in this process.
func openEngine(ctx context.Context) (engine.Engine, error) {
	url := os.Getenv("INTERLOCK_URL")
	if url == "" {
		return nil, nil
	}
	return redisengine.Open(ctx, url)
}

// user returns the user that the server has authenticated. This server knows only one.
func user(context.Context) string { return "anna" }

// A shop is the service.
type shop struct {
	pb.UnimplementedTestServiceServer
	orders      int
	defaultItem string
}

// UnaryCall places an order.
func (s *shop) UnaryCall(_ context.Context, req *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if len(req.GetPayload().GetBody()) == 0 && s.defaultItem == "" {
		return nil, status.Error(codes.InvalidArgument, "no item")
	}
	s.orders++
	return &pb.SimpleResponse{Username: fmt.Sprint("order ", s.orders)}, nil
}

// A loss loses the next reply, as a broken connection does.
type loss struct{ next atomic.Bool }

func (l *loss) intercept(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	reply, err := handler(ctx, req)
	if l.next.Swap(false) {
		return nil, status.Error(codes.Unavailable, "the connection is broken")
	}
	return reply, err
}

func withKey(ctx context.Context, key string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "idempotency-key", key)
}

// call describes the reply to a call.
func call(ctx context.Context, conn grpc.ClientConnInterface, item string) string {
	var header metadata.MD
	resp, err := pb.NewTestServiceClient(conn).UnaryCall(ctx, &pb.SimpleRequest{Payload: &pb.Payload{Body: []byte(item)}}, grpc.Header(&header))
	switch {
	case err != nil:
		s := status.Convert(err)
		for _, d := range s.Details() {
			if info, ok := d.(*errdetails.ErrorInfo); ok {
				return fmt.Sprintf("%v, %s", s.Code(), info.GetReason())
			}
		}
		return fmt.Sprintf("%v, %s", s.Code(), s.Message())
	case len(header.Get("idempotent-replayed")) > 0:
		return "placed " + resp.GetUsername() + " (replayed)"
	}
	return "placed " + resp.GetUsername()
}
