package interlockechov4_test

import (
	"github.com/labstack/echo/v4"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/echov4"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// An order is placed once per key, and one request at a time pays it.
func Example() {
	client := interlock.New(nil) // or an engine such as Redis
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockechov4.User(func(c echo.Context) string { user, _ := c.Get("user").(string); return user }))
	if err != nil {
		panic(err)
	}
	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"))
	if err != nil {
		panic(err)
	}

	e := echo.New()
	e.POST("/orders", func(c echo.Context) error { return c.String(201, "placed") }, interlockechov4.Wrap(orders.Wrap))
	e.POST("/orders/:id/pay", func(c echo.Context) error { return c.String(200, "paid") }, interlockechov4.Wrap(pay))
}
