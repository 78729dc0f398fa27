// Program echo is an order service with echo: an order is placed once per key, and one request
// at a time pays it.
//
//	go run ./examples/echo
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

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/echo"
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
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockecho.User(signedIn))
	if err != nil {
		return err
	}
	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"))
	if err != nil {
		return err
	}

	e := echo.New()
	e.Use(middleware.Recover(), middleware.BasicAuth(authenticate))
	e.POST("/orders", placeOrder, interlockecho.Wrap(orders.Wrap))
	e.POST("/orders/:id/pay", payOrder, interlockecho.Wrap(pay))

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Println("listening on http://" + listener.Addr().String())
	server := &http.Server{Handler: e}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return errors.Join(orders.Close(context.Background()), client.Close(context.Background()))
}

// authenticate accepts two users, and keeps the name of the user.
func authenticate(c *echo.Context, user, password string) (bool, error) {
	c.Set("user", user)
	return password != "" && map[string]string{"anna": "tea", "bert": "milk"}[user] == password, nil
}

// signedIn returns the user that authenticate has accepted.
func signedIn(c *echo.Context) string {
	user, _ := c.Get("user").(string)
	return user
}

var placed atomic.Int64

func placeOrder(c *echo.Context) error {
	return c.JSON(http.StatusCreated, map[string]any{"order": placed.Add(1)})
}

func payOrder(c *echo.Context) error {
	_ = c.Request().Context() // databases get this context: it ends if the lock is lost
	return c.JSON(http.StatusOK, map[string]any{"paid": c.Param("id")})
}
