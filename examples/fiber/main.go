// Program fiber is an order service with fiber: an order is placed once per key, and one request
// at a time pays it.
//
//	go run ./examples/fiber
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
	"os"
	"os/signal"
	"sync/atomic"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/basicauth"
	"github.com/gofiber/fiber/v3/middleware/recover"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/fiber"
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
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockfiber.User(signedIn))
	if err != nil {
		return err
	}
	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"))
	if err != nil {
		return err
	}

	app := fiber.New()
	app.Use(recover.New(), basicauth.New(basicauth.Config{Authorizer: authenticate}))
	app.Post("/orders", interlockfiber.Wrap(orders.Wrap), placeOrder)
	app.Post("/orders/:id/pay", interlockfiber.Wrap(pay), payOrder)

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Println("listening on http://" + listener.Addr().String())
	context.AfterFunc(ctx, func() { _ = app.Shutdown() })
	if err := app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}); err != nil {
		return err
	}
	return errors.Join(orders.Close(context.Background()), client.Close(context.Background()))
}

// authenticate accepts two users.
func authenticate(user, password string, _ fiber.Ctx) bool {
	return password != "" && map[string]string{"anna": "tea", "bert": "milk"}[user] == password
}

// signedIn returns the user that basicauth has authenticated.
func signedIn(c fiber.Ctx) string { return basicauth.UsernameFromContext(c) }

var placed atomic.Int64

func placeOrder(c fiber.Ctx) error {
	return c.Status(fiber.StatusCreated).JSON(fiber.Map{"order": placed.Add(1)})
}

func payOrder(c fiber.Ctx) error {
	_ = c.Context() // databases get this context: it ends if the lock is lost
	return c.JSON(fiber.Map{"paid": c.Params("id")})
}
