package interlockgozero_test

import (
	"net/http"

	"github.com/zeromicro/go-zero/rest"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/gozero"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// An order is placed once per key, and one request at a time pays it.
func Example() {
	client := interlock.New(nil) // or an engine such as Redis
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockgozero.Claim("userId"))
	if err != nil {
		panic(err)
	}
	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"))
	if err != nil {
		panic(err)
	}

	server := rest.MustNewServer(rest.RestConf{Host: "localhost", Port: 8080})
	server.AddRoutes(interlockgozero.WithMiddleware(orders.Wrap,
		rest.Route{Method: http.MethodPost, Path: "/orders", Handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }}),
		rest.WithJwt("the secret of the tokens"))
	server.AddRoutes(interlockgozero.WithMiddleware(pay,
		rest.Route{Method: http.MethodPost, Path: "/orders/:id/pay", Handler: func(http.ResponseWriter, *http.Request) {}}),
		rest.WithJwt("the secret of the tokens"))
}
