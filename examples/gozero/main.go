// Program gozero is an order service with go-zero: an order is placed once per key, and one request
// at a time pays it.
//
//	go run ./examples/gozero
//
// In another terminal:
//
//	$ curl -s -u anna:tea -H 'Idempotency-Key: k1' -d item=tea localhost:8080/orders
//	{"order":1}
//	$ curl -s -u anna:tea -H 'Idempotency-Key: k1' -d item=tea localhost:8080/orders
//	{"order":1}
//	$ curl -s -u anna:tea -H 'Idempotency-Key: k1' -d item=coffee -o /dev/null -w '%{http_code}' localhost:8080/orders
//	422
//	$ curl -s -u bert:milk -H 'Idempotency-Key: k1' -d item=coffee localhost:8080/orders
//	{"order":2}
//	$ curl -s -u anna:tea -X POST localhost:8080/orders/1/pay
//	{"paid":"1"}
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/httpx"
	"github.com/zeromicro/go-zero/rest/pathvar"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/gozero"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

var listen = flag.String("listen", "localhost:8080", "address to listen on")

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client := interlock.New(nil) // for several processes: redisengine.Open
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockhttp.User(signedIn))
	if err != nil {
		return err
	}
	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"))
	if err != nil {
		return err
	}

	var config rest.RestConf
	if err := conf.FillDefault(&config); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(*listen)
	if err != nil {
		return err
	}
	if config.Port, err = strconv.Atoi(port); err != nil {
		return err
	}
	config.Host, config.Log.Level = host, "error"
	server, err := rest.NewServer(config)
	if err != nil {
		return err
	}
	server.Use(authenticate) // in production rest.WithJwt, and interlockgozero.Claim for the user
	server.AddRoutes(interlockgozero.WithMiddleware(orders.Wrap, rest.Route{Method: http.MethodPost, Path: "/orders", Handler: placeOrder}))
	server.AddRoutes(interlockgozero.WithMiddleware(pay, rest.Route{Method: http.MethodPost, Path: "/orders/:id/pay", Handler: payOrder}))

	fmt.Println("listening on http://" + *listen)
	context.AfterFunc(ctx, server.Stop)
	server.Start()
	return errors.Join(orders.Close(context.Background()), client.Close(context.Background()))
}

// authenticate refuses requests without a known user and password.
func authenticate(next http.HandlerFunc) http.HandlerFunc {
	passwords := map[string]string{"anna": "tea", "bert": "milk"}
	return func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || password == "" || passwords[user] != password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

// signedIn returns the user that authenticate has let pass.
func signedIn(r *http.Request) string {
	user, _, _ := r.BasicAuth()
	return user
}

var placed atomic.Int64

func placeOrder(w http.ResponseWriter, r *http.Request) {
	httpx.WriteJsonCtx(r.Context(), w, http.StatusCreated, map[string]any{"order": placed.Add(1)})
}

func payOrder(w http.ResponseWriter, r *http.Request) {
	// Databases get r.Context() as well: it ends if the lock is lost.
	httpx.OkJsonCtx(r.Context(), w, map[string]any{"paid": pathvar.Vars(r)["id"]})
}
