package interlockextproc_test

import (
	"net"
	"net/http"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/extproc"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A server that guards POST /orders, and lets all other requests of Envoy pass.
func Example() {
	client := interlock.New(memory.New())
	orders := interlockhttp.Must(interlockhttp.Once(client, guard.Charge("orders"),
		interlockhttp.User(func(r *http.Request) string { return r.Header.Get("X-User") }))) // set by Envoy
	server := interlockextproc.New(func(envoy http.Handler) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("POST /orders", orders.Wrap(envoy))
		mux.HandleFunc("/", interlockextproc.Pass)
		return mux
	})
	// Without pings, an Envoy that vanishes with its machine would hold its keys for two hours.
	g := grpc.NewServer(grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}))
	extprocv3.RegisterExternalProcessorServer(g, server)
	l, err := net.Listen("tcp", "127.0.0.1:9002")
	if err != nil {
		panic(err)
	}
	if err := g.Serve(l); err != nil { // until GracefulStop
		panic(err)
	}
}
