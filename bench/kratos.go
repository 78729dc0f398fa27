package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-kratos/kratos/v2/log"
	"github.com/go-kratos/kratos/v2/middleware"
	"github.com/go-kratos/kratos/v2/transport"
	kgrpc "github.com/go-kratos/kratos/v2/transport/grpc"
	khttp "github.com/go-kratos/kratos/v2/transport/http"
	"google.golang.org/grpc/interop/grpc_testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/kratos"
)

// callTimeout replaces the timeout of a second, which a busy machine may exceed.
const callTimeout = time.Minute

func callKratosGRPC(ctx context.Context, client *interlock.Client) (keyed, func(), error) {
	server := kgrpc.NewServer(kgrpc.Address("127.0.0.1:0"), kgrpc.Timeout(callTimeout), kgrpc.Middleware(kratosOnce(client)...))
	grpc_testing.RegisterTestServiceServer(server, shop{})
	addr, stop, err := serveKratos(ctx, server)
	if err != nil {
		return nil, nil, err
	}
	conn, err := kgrpc.DialInsecure(ctx, kgrpc.WithEndpoint(addr), kgrpc.WithTimeout(callTimeout))
	return overGRPC(conn), func() { _ = conn.Close(); stop() }, err
}

func callKratosHTTP(ctx context.Context, client *interlock.Client) (keyed, func(), error) {
	server := khttp.NewServer(khttp.Address("127.0.0.1:0"), khttp.Timeout(callTimeout), khttp.Middleware(kratosOnce(client)...))
	server.Route("/").POST("/orders", func(c khttp.Context) error { // as generated code does
		in := new(sellRequest)
		if err := c.Bind(in); err != nil {
			return err
		}
		khttp.SetOperation(c, sellMethod)
		handle := c.Middleware(func(ctx context.Context, in any) (any, error) { return shop{}.UnaryCall(ctx, in.(*sellRequest)) })
		out, err := handle(c, in)
		if err != nil {
			return err
		}
		return c.Result(http.StatusOK, out)
	})
	addr, stop, err := serveKratos(ctx, server)
	if err != nil {
		return nil, nil, err
	}
	conn, err := khttp.NewClient(ctx, khttp.WithEndpoint(addr), khttp.WithTimeout(callTimeout))
	return func(ctx context.Context, key string) error {
		got, header := new(sellResponse), http.Header{"Idempotency-Key": {key}}
		err := conn.Invoke(ctx, http.MethodPost, "/orders", request, got, khttp.Operation(sellMethod), khttp.Header(&header))
		return check(got, err)
	}, func() { _ = conn.Close(); stop() }, err
}

func kratosOnce(client *interlock.Client) []middleware.Middleware {
	if client == nil {
		return nil
	}
	return []middleware.Middleware{interlockkratos.Must(interlockkratos.Once(client, callPolicy(), interlockkratos.User(signedIn))).Server}
}

// logOnlyErrors sets the logger of all kratos servers, which they read without a lock when
// they start.
var logOnlyErrors = sync.OnceFunc(func() {
	log.SetLogger(log.NewFilter(log.DefaultLogger, log.FilterLevel(log.LevelError)))
})

// serveKratos serves on a free port until stop is called.
func serveKratos(ctx context.Context, s interface {
	transport.Server
	transport.Endpointer
}) (addr string, stop func(), err error) {
	logOnlyErrors()
	url, err := s.Endpoint()
	if err != nil {
		return "", nil, err
	}
	go func() { _ = s.Start(ctx) }() // until Stop
	return url.Host, func() { _ = s.Stop(context.WithoutCancel(ctx)) }, nil
}
