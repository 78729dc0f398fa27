// Program chi is an order service with chi: an order is placed once per key, and one request
// at a time pays it.
//
//	go run ./examples/chi
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
	"sync/atomic"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/interlock-go/interlock"
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

	router := chi.NewRouter()
	router.Use(middleware.Recoverer, middleware.BasicAuth("shop", map[string]string{"anna": "tea", "bert": "milk"}))
	router.With(orders.Wrap).Post("/orders", placeOrder)
	router.With(pay).Post("/orders/{id}/pay", payOrder) // with, not Use: chi knows the id by then

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Println("listening on http://" + listener.Addr().String())
	server := &http.Server{Handler: router}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return errors.Join(orders.Close(context.Background()), client.Close(context.Background()))
}

// signedIn returns the user that middleware.BasicAuth has authenticated.
func signedIn(r *http.Request) string {
	user, _, _ := r.BasicAuth()
	return user
}

var placed atomic.Int64

func placeOrder(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "{\"order\":%d}", placed.Add(1))
}

func payOrder(w http.ResponseWriter, r *http.Request) {
	_ = r.Context() // databases get this context: it ends if the lock is lost
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "{\"paid\":%q}", chi.URLParam(r, "id"))
}
