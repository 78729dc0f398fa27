// Program kratos places orders with kratos, once per key, over HTTP and gRPC. Its messages are
// of type google.protobuf.Struct, so that it needs no generated code; yours are generated from
// your own .proto file.
//
//	go run ./examples/kratos
//
// The records are in this process. With the URL of a Redis, other processes share them:
//
//	INTERLOCK_URL=redis://localhost:6379 go run ./examples/kratos
//
// The program makes these requests, and prints what curl prints. To make them yourself, give it
// an address:
//
//	go run ./examples/kratos localhost:8080
//	curl -w '%{http_code}\n' -H 'Content-Type: application/json' -H 'Idempotency-Key: 7f3c' -d '{"item":"tea"}' http://localhost:8080/orders
//
// Output:
//
//	$ curl … -H 'Idempotency-Key: 7f3c' -d '{"item":"tea"}' …/orders
//	200 {"item":"tea","order":1}
//	$ curl … -H 'Idempotency-Key: 7f3c' -d '{"item":"tea"}' …/orders
//	200 {"item":"tea","order":1} replayed
//	$ curl … -H 'Idempotency-Key: 7f3c' -d '{"item":"coffee"}' …/orders
//	422 key_reused: the key was used for another call; use a new key for a new call
//	$ curl … -d '{"item":"tea"}' …/orders
//	400 key_missing: idempotency-key is missing: send a new key for each new operation, and the same key for every retry
//	a kratos client and the same key: 1
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	klog "github.com/go-kratos/kratos/v2/log"
	khttp "github.com/go-kratos/kratos/v2/transport/http"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/kratos"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
)

func main() {
	ctx := context.Background()
	address := "127.0.0.1:0"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	klog.SetLogger(klog.NewStdLogger(io.Discard))
	server, err := newServer(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) > 1 {
		log.Fatal(server.Start(ctx))
	}
	if err := run(ctx, server, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// newServer returns a server of kratos. A server for gRPC takes the same middleware.
func newServer(ctx context.Context, address string) (*khttp.Server, error) {
	engine, err := openEngine(ctx)
	if err != nil {
		return nil, err
	}
	orders, err := interlockkratos.Once(interlock.New(engine), guard.Policy{Name: "order"}, interlockkratos.User(user))
	if err != nil {
		return nil, err
	}
	server := khttp.NewServer(khttp.Address(address), khttp.Middleware(orders.Server))
	server.Route("/").POST("/orders", new(shop).create)
	return server, nil
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
type shop struct{ orders atomic.Int64 }

// create is what protoc-gen-go-http generates for the operation.
func (s *shop) create(ctx khttp.Context) error {
	in := new(structpb.Struct)
	if err := ctx.Bind(in); err != nil {
		return err
	}
	khttp.SetOperation(ctx, "/shop.Orders/Create")
	out, err := ctx.Middleware(func(ctx context.Context, req any) (any, error) { return s.place(ctx, req.(*structpb.Struct)) })(ctx, in)
	if err != nil {
		return err
	}
	return ctx.Result(http.StatusOK, out)
}

// place places an order.
func (s *shop) place(_ context.Context, req *structpb.Struct) (*structpb.Struct, error) {
	return structpb.NewStruct(map[string]any{"item": req.GetFields()["item"].GetStringValue(), "order": s.orders.Add(1)})
}

// run serves, and makes the requests.
func run(ctx context.Context, server *khttp.Server, w io.Writer) error {
	url, err := server.Endpoint()
	if err != nil {
		return err
	}
	go func() { _ = server.Start(ctx) }()
	defer server.Close() //nolint:errcheck // the program ends

	key := interlockkratos.NewKey()
	for _, r := range []struct{ key, body string }{{key, `{"item":"tea"}`}, {key, `{"item":"tea"}`}, {key, `{"item":"coffee"}`}, {"", `{"item":"tea"}`}} {
		if err := post(ctx, w, url.String()+"/orders", r.key, r.body); err != nil {
			return err
		}
	}
	client, err := khttp.NewClient(ctx, khttp.WithEndpoint(url.Host), khttp.WithMiddleware(interlockkratos.Client()))
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // the program ends
	item, err := structpb.NewStruct(map[string]any{"item": "tea"})
	if err != nil {
		return err
	}
	order := new(structpb.Struct)
	if err := client.Invoke(interlockkratos.WithKey(ctx, key), http.MethodPost, "/orders", item, order, khttp.Operation("/shop.Orders/Create")); err != nil {
		return err
	}
	fmt.Fprintln(w, "a kratos client and the same key:", order.GetFields()["order"].GetNumberValue())
	return nil
}

// post makes one request, as curl does.
func post(ctx context.Context, w io.Writer, url, key, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	option := ""
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
		option = "-H 'Idempotency-Key: 7f3c' "
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	fmt.Fprintf(w, "$ curl … %s-d '%s' …/orders\n", option, body)
	if resp.StatusCode != http.StatusOK {
		fmt.Fprintf(w, "%d %s: %s\n", resp.StatusCode, answer["reason"], answer["message"])
		return nil
	}
	text, err := json.Marshal(answer)
	if resp.Header.Get("Idempotent-Replayed") != "" {
		text = append(text, " replayed"...)
	}
	fmt.Fprintf(w, "%d %s\n", resp.StatusCode, text)
	return err
}
