package interlockgrpc_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/grpc"
	"github.com/interlock-go/interlock/guard"
)

// Orders are placed once per key.
func ExampleOnce() {
	client := interlock.New(nil) // or an engine such as Redis
	orders, err := interlockgrpc.Once(client, guard.Policy{Name: "order"}, interlockgrpc.User(signedIn))
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(authenticate, orders.Unary))
	defer server.Stop()
}

// Calls that pay for the same order run one at a time, and a user makes at most 100 calls per
// minute. A replayed reply counts as no call, because the limit is inside of Once.
func Example() {
	client := interlock.New(nil)
	orders := interlockgrpc.Must(interlockgrpc.Once(client, guard.Charge("order"), interlockgrpc.User(signedIn)))
	calls := interlockgrpc.Must(interlockgrpc.Limit(client, "calls", 100, interlock.Sliding(time.Minute),
		interlockgrpc.Func(func(ctx context.Context, _ any) (string, error) { return signedIn(ctx), nil })))
	pay := interlockgrpc.Must(interlockgrpc.Lock(client, "pay",
		interlockgrpc.By((*wrapperspb.StringValue).GetValue), interlockgrpc.Methods("/shop.Orders/Pay")))

	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(authenticate, orders.Unary, calls.Unary, pay.Unary),
		grpc.ChainStreamInterceptor(calls.Stream),
	)
	defer server.Stop()
}

// A client that gets no reply repeats the call with the same key.
func ExampleUnaryClientInterceptor() {
	address, stop := serveShop()
	defer stop()

	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(interlockgrpc.UnaryClientInterceptor()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := interlockgrpc.WithKey(context.Background(), "8e03978e-40d5-43dd-bc93-6894a57f9324") // stored before the first call
	for range 2 {
		order := new(wrapperspb.StringValue)
		if err := conn.Invoke(ctx, "/shop.Orders/Create", wrapperspb.String("tea"), order); err != nil {
			log.Fatal(err)
		}
		fmt.Println(order.GetValue())
	}
	// Output:
	// order 1
	// order 1
}

// A handler says that it did nothing, so that the next call with the key runs.
func ExampleSettle() {
	_ = func(ctx context.Context, req *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		if err := reserve(req); err != nil {
			interlockgrpc.Settle(ctx, interlockgrpc.NotExecuted)
			return nil, err
		}
		return wrapperspb.String("ordered"), nil
	}
}

func signedIn(context.Context) string { return "anna" } // the user that authenticate has found

func reserve(*wrapperspb.StringValue) error { return nil }

func authenticate(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	return next(ctx, req)
}

// serveShop serves a shop that counts its orders.
func serveShop() (address string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	guarded := interlockgrpc.Must(interlockgrpc.Once(interlock.New(nil), guard.Policy{Name: "order"}, interlockgrpc.User(signedIn)))
	server := grpc.NewServer(grpc.UnaryInterceptor(guarded.Unary))
	n := 0
	server.RegisterService(orders(func(context.Context, string) (string, error) {
		n++
		return fmt.Sprint("order ", n), nil
	}, nil), nil)
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().String(), server.Stop
}
