package interlockhertz_test

import (
	"context"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/hertz"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// An order is placed once per key, and one request at a time pays it.
func Example() {
	client := interlock.New(nil) // or an engine such as Redis
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockhertz.User(func(_ context.Context, c *app.RequestContext) string { return c.GetString("user") }))
	if err != nil {
		panic(err)
	}
	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"))
	if err != nil {
		panic(err)
	}

	h := server.New()
	h.POST("/orders", interlockhertz.Wrap(orders.Wrap), func(_ context.Context, c *app.RequestContext) { c.String(201, "placed") })
	h.POST("/orders/:id/pay", interlockhertz.Wrap(pay), func(_ context.Context, c *app.RequestContext) { c.String(200, "paid") })
}
