// Package interlockextproc guards the requests of an Envoy proxy with the middlewares of
// package interlockhttp, without another hop. It is a server for Envoy's filter ext_proc:
//
//	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockhttp.User(signedIn))
//	…
//	server := interlockextproc.New(func(envoy http.Handler) http.Handler {
//		mux := http.NewServeMux()
//		mux.Handle("POST /orders", orders.Wrap(envoy))
//		mux.HandleFunc("/", interlockextproc.Pass)
//		return mux
//	})
//	extprocv3.RegisterExternalProcessorServer(grpcServer, server)
//
// Each stream of the protocol is one request, and one call of the handler. The handler
// envoy lets Envoy send the request to its upstream, and waits for the response. Header
// fields that the handlers around it set are changed in Envoy. A response that does not
// come from the upstream, such as a replay or a refusal, is sent as an immediate response.
//
// The mux above reads paths in its own way, and the upstream may take /orders/ or /ORDERS for
// /orders as well, which the mux lets pass. Guard all such paths, or let Envoy refuse them.
// The rules of package gateway, which the command interlock ext-proc runs, refuse a path that
// can be read in several ways.
//
// Envoy's processing mode must be SEND for headers and trailers and BUFFERED for bodies,
// with allow_mode_override: true and failure_mode_allow: false. The page docs/envoy.md has
// the complete configuration. Give the grpc.Server keepalive.ServerParameters with a Time of
// a few seconds. The default is two hours, and an Envoy that vanishes with its machine would
// hold its locks for as long.
//
// # What is not promised
//
// Envoy cancels the request to its upstream if the client disconnects. The outcome is then
// unknown, and guard.Policy.OnUnknown decides. The same holds for every stream that ends
// between the request and the response. Handlers can change header fields only, and neither
// the path nor the body of a request. If a request has trailers and an empty body, they
// cannot change its header either, and such a request is refused. Trailers of stored
// responses are dropped, and with them the status of a gRPC call. A lock around an event
// stream may be released when the header of the response has arrived. The retries of Envoy's
// router are not seen here, so switch them off.
package interlockextproc
