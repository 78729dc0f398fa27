package interlockconnect_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/connect"
	"github.com/interlock-go/interlock/guard"
)

// Orders are placed once per key. Calls that pay for the same order run one at a time, and a
// user makes at most 100 calls per minute.
func Example() {
	client := interlock.New(nil) // or an engine such as Redis
	orders := interlockconnect.Must(interlockconnect.Once(client, guard.Policy{Name: "order"}, interlockconnect.User(signedIn)))
	calls := interlockconnect.Must(interlockconnect.Limit(client, "calls", 100, interlock.Sliding(time.Minute),
		interlockconnect.Func(func(ctx context.Context, _ any) (string, error) { return signedIn(ctx), nil })))
	pay := interlockconnect.Must(interlockconnect.Lock(client, "pay",
		interlockconnect.By((*wrapperspb.StringValue).GetValue), interlockconnect.Procedures("/shop.Orders/Pay")))

	mux := http.NewServeMux()
	mux.Handle("/shop.Orders/Create", connect.NewUnaryHandler("/shop.Orders/Create", place, connect.WithInterceptors(orders, calls, pay)))
}

// A client that gets no reply repeats the call with the same key.
func ExampleClientInterceptor() {
	orders := interlockconnect.Must(interlockconnect.Once(interlock.New(nil), guard.Policy{Name: "order"}, interlockconnect.User(signedIn)))
	server := httptest.NewServer(connect.NewUnaryHandler("/shop.Orders/Create", place, connect.WithInterceptors(orders)))
	defer server.Close()

	client := connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](http.DefaultClient, server.URL+"/shop.Orders/Create",
		connect.WithInterceptors(interlockconnect.ClientInterceptor()))
	ctx := interlockconnect.WithKey(context.Background(), "a-key-that-was-stored-before")
	for range 2 {
		order, err := client.CallUnary(ctx, connect.NewRequest(wrapperspb.String("tea")))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, replayed: %q\n", order.Msg.GetValue(), order.Header().Get("Idempotent-Replayed"))
	}
	// Output:
	// tea ordered, replayed: ""
	// tea ordered, replayed: "true"
}

// A handler says that it did nothing, so that the next call with the key runs.
func ExampleSettle() {
	_ = func(ctx context.Context, req *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
		if err := reserve(req.Msg); err != nil {
			interlockconnect.Settle(ctx, interlockconnect.NotExecuted)
			return nil, err
		}
		return place(ctx, req)
	}
}

func place(_ context.Context, req *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
	return connect.NewResponse(wrapperspb.String(req.Msg.GetValue() + " ordered")), nil
}

func signedIn(context.Context) string { return "anna" } // the user that the authentication has found

func reserve(*wrapperspb.StringValue) error { return nil }
