package main

import (
	"context"
	"net"
	"net/http"
	"slices"

	connectrpc "connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/connect"
	"github.com/interlock-go/interlock/adapter/grpc"
	"github.com/interlock-go/interlock/guard"
)

// calls returns the rows of the table about calls over loopback.
func calls() []contender {
	return slices.Concat(beside("gRPC", callGRPC), beside("kratos, gRPC", callKratosGRPC), beside("kratos, HTTP", callKratosHTTP), beside("Connect", callConnect))
}

// shop implements a service that gRPC has for its own tests.
type shop struct {
	grpc_testing.UnimplementedTestServiceServer
}

const sellMethod = grpc_testing.TestService_UnaryCall_FullMethodName

type (
	sellRequest  = grpc_testing.SimpleRequest
	sellResponse = grpc_testing.SimpleResponse
)

var (
	request  = &sellRequest{Payload: &grpc_testing.Payload{Body: []byte(requestBody)}}
	response = &sellResponse{Payload: &grpc_testing.Payload{Body: []byte(responseBody)}}
)

func (shop) UnaryCall(context.Context, *sellRequest) (*sellResponse, error) { return response, nil }

// check returns errStatus unless a call got the response.
func check(got *sellResponse, err error) error {
	if err == nil && string(got.GetPayload().GetBody()) != responseBody {
		return errStatus
	}
	return err
}

func callPolicy() guard.Policy { return guard.Policy{Name: "bench", Retain: resultRetention} }

func signedIn(context.Context) string { return "ann" }

func callGRPC(ctx context.Context, client *interlock.Client) (keyed, func(), error) {
	var opts []grpc.ServerOption
	if client != nil {
		once := interlockgrpc.Must(interlockgrpc.Once(client, callPolicy(), interlockgrpc.User(signedIn)))
		opts = append(opts, grpc.UnaryInterceptor(once.Unary))
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	server := grpc.NewServer(opts...)
	grpc_testing.RegisterTestServiceServer(server, shop{})
	go func() { _ = server.Serve(l) }() // until Stop
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	return overGRPC(conn), func() { _ = conn.Close(); server.Stop() }, err
}

func overGRPC(conn grpc.ClientConnInterface) keyed {
	client := grpc_testing.NewTestServiceClient(conn)
	return func(ctx context.Context, key string) error {
		return check(client.UnaryCall(metadata.AppendToOutgoingContext(ctx, "idempotency-key", key), request))
	}
}

func callConnect(ctx context.Context, client *interlock.Client) (keyed, func(), error) {
	var opts []connectrpc.HandlerOption
	if client != nil {
		once := interlockconnect.Must(interlockconnect.Once(client, callPolicy(), interlockconnect.User(signedIn)))
		opts = append(opts, connectrpc.WithInterceptors(once))
	}
	server, addr, err := serve(ctx, connectrpc.NewUnaryHandlerSimple(sellMethod, shop{}.UnaryCall, opts...))
	if err != nil {
		return nil, nil, err
	}
	conns := new(http.Transport)
	caller := connectrpc.NewClient[sellRequest, sellResponse](&http.Client{Transport: conns}, "http://"+addr+sellMethod)
	return func(ctx context.Context, key string) error {
		r := connectrpc.NewRequest(request)
		r.Header().Set("Idempotency-Key", key)
		got, err := caller.CallUnary(ctx, r)
		if err != nil {
			return err
		}
		return check(got.Msg, nil)
	}, func() { conns.CloseIdleConnections(); _ = server.Close() }, nil
}
