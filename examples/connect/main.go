// Program connect places orders with Connect, once per key. Its messages are of type
// google.protobuf.Struct, so that it needs no generated code; yours are generated from your own
// .proto file.
//
//	go run ./examples/connect
//
// The records are in this process. With the URL of a Redis, other processes share them:
//
//	INTERLOCK_URL=redis://localhost:6379 go run ./examples/connect
//
// The program makes these requests, and prints what curl prints. To make them yourself, give it
// an address:
//
//	go run ./examples/connect localhost:8080
//	curl -w '%{http_code}\n' -H 'Content-Type: application/json' -H 'Idempotency-Key: 7f3c' -d '{"item":"tea"}' http://localhost:8080/shop.Orders/Create
//
// Output:
//
//	$ curl … -H 'Idempotency-Key: 7f3c' -d '{"item":"tea"}' …/shop.Orders/Create
//	200 {"item":"tea","order":1}
//	$ curl … -H 'Idempotency-Key: 7f3c' -d '{"item":"tea"}' …/shop.Orders/Create
//	200 {"item":"tea","order":1} replayed
//	$ curl … -H 'Idempotency-Key: 7f3c' -d '{"item":"coffee"}' …/shop.Orders/Create
//	400 failed_precondition: the key was used for another call; use a new key for a new call
//	$ curl … -d '{"item":"tea"}' …/shop.Orders/Create
//	400 invalid_argument: idempotency-key is missing: send a new key for each new operation, and the same key for every retry
//	a client with the gRPC protocol and the same key: 1
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/connect"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
)

const create = "/shop.Orders/Create"

func main() {
	ctx := context.Background()
	server, err := newServer(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) > 1 {
		server.Addr = os.Args[1]
		log.Fatal(server.ListenAndServe())
	}
	if err := run(ctx, server, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// newServer returns a server for all protocols of Connect, with HTTP/1 and HTTP/2.
func newServer(ctx context.Context) (*http.Server, error) {
	engine, err := openEngine(ctx)
	if err != nil {
		return nil, err
	}
	orders, err := interlockconnect.Once(interlock.New(engine), guard.Policy{Name: "order"}, interlockconnect.User(user))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(create, connect.NewUnaryHandler(create, new(shop).create, connect.WithInterceptors(orders)))
	return &http.Server{Handler: mux, Protocols: protocols(), ReadHeaderTimeout: 10 * time.Second}, nil
}

func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
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

// create places an order.
func (s *shop) create(_ context.Context, req *connect.Request[structpb.Struct]) (*connect.Response[structpb.Struct], error) {
	order, err := structpb.NewStruct(map[string]any{"item": req.Msg.GetFields()["item"].GetStringValue(), "order": s.orders.Add(1)})
	return connect.NewResponse(order), err
}

// run serves, and makes the requests.
func run(ctx context.Context, server *http.Server, w io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Close() //nolint:errcheck // the program ends
	url := "http://" + listener.Addr().String() + create

	key := interlockconnect.NewKey()
	for _, r := range []struct{ key, body string }{{key, `{"item":"tea"}`}, {key, `{"item":"tea"}`}, {key, `{"item":"coffee"}`}, {"", `{"item":"tea"}`}} {
		if err := post(ctx, w, url, r.key, r.body); err != nil {
			return err
		}
	}
	client := connect.NewClient[structpb.Struct, structpb.Struct](&http.Client{Transport: &http.Transport{Protocols: http2()}}, url,
		connect.WithGRPC(), connect.WithInterceptors(interlockconnect.ClientInterceptor()))
	item, err := structpb.NewStruct(map[string]any{"item": "tea"})
	if err != nil {
		return err
	}
	order, err := client.CallUnary(interlockconnect.WithKey(ctx, key), connect.NewRequest(item))
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "a client with the gRPC protocol and the same key:", order.Msg.GetFields()["order"].GetNumberValue())
	return nil
}

func http2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
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
	fmt.Fprintf(w, "$ curl … %s-d '%s' …%s\n", option, body, create)
	if resp.StatusCode != http.StatusOK {
		fmt.Fprintf(w, "%d %s: %s\n", resp.StatusCode, answer["code"], answer["message"])
		return nil
	}
	text, err := json.Marshal(answer)
	if resp.Header.Get("Idempotent-Replayed") != "" {
		text = append(text, " replayed"...)
	}
	fmt.Fprintf(w, "%d %s\n", resp.StatusCode, bytes.TrimSpace(text))
	return err
}
