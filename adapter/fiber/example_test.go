package interlockfiber_test

import (
	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/basicauth"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/fiber"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// An order is placed once per key, and one request at a time pays it.
func Example() {
	client := interlock.New(nil) // or an engine such as Redis
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockfiber.User(func(c fiber.Ctx) string { return basicauth.UsernameFromContext(c) }))
	if err != nil {
		panic(err)
	}
	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"))
	if err != nil {
		panic(err)
	}

	app := fiber.New()
	app.Post("/orders", interlockfiber.Wrap(orders.Wrap), func(c fiber.Ctx) error { return c.Status(201).SendString("placed") })
	app.Post("/orders/:id/pay", interlockfiber.Wrap(pay), func(c fiber.Ctx) error { return c.SendString("paid") })
}
