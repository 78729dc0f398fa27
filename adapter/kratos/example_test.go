package interlockkratos_test

import (
	"context"
	"time"

	"github.com/go-kratos/kratos/v2"
	"github.com/go-kratos/kratos/v2/middleware/recovery"
	kgrpc "github.com/go-kratos/kratos/v2/transport/grpc"
	khttp "github.com/go-kratos/kratos/v2/transport/http"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/kratos"
	"github.com/interlock-go/interlock/guard"
)

// Orders are placed once per key, over HTTP and gRPC. Calls that pay for the same order run one
// at a time, and a user makes at most 100 calls per minute.
func Example() {
	client := interlock.New(nil) // or an engine such as Redis
	orders := interlockkratos.Must(interlockkratos.Once(client, guard.Policy{Name: "order"}, interlockkratos.User(signedIn)))
	calls := interlockkratos.Must(interlockkratos.Limit(client, "calls", 100, interlock.Sliding(time.Minute),
		interlockkratos.Func(func(ctx context.Context, _ any) (string, error) { return signedIn(ctx), nil })))
	pay := interlockkratos.Must(interlockkratos.Lock(client, "pay",
		interlockkratos.By((*wrapperspb.StringValue).GetValue), interlockkratos.Operations("/shop.Orders/Pay")))

	app := kratos.New(
		kratos.Server(
			khttp.NewServer(khttp.Middleware(recovery.Recovery(), orders.Server, calls, pay)),
			kgrpc.NewServer(kgrpc.Middleware(recovery.Recovery(), orders.Server, calls, pay)),
		),
		kratos.AfterStop(orders.Close),
	)
	_ = app.Stop() // or Run
}

// A client that gets no reply repeats the call with the same key.
func ExampleClient() {
	client, err := khttp.NewClient(context.Background(), khttp.WithEndpoint("127.0.0.1:8000"), khttp.WithTimeout(30*time.Second),
		khttp.WithMiddleware(interlockkratos.Client()))
	if err != nil {
		return
	}
	defer client.Close()
}

// A handler says that it did nothing, so that the next call with the key runs.
func ExampleSettle() {
	_ = func(ctx context.Context, req *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		if err := reserve(req); err != nil {
			interlockkratos.Settle(ctx, interlockkratos.NotExecuted)
			return nil, err
		}
		return wrapperspb.String("ordered"), nil
	}
}

func signedIn(context.Context) string { return "anna" } // the user that the authentication has found

func reserve(*wrapperspb.StringValue) error { return nil }
