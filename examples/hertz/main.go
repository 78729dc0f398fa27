// Program hertz is an order service with Hertz: an order is placed once per key, and one request
// at a time pays it.
//
//	go run ./examples/hertz
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

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/middlewares/server/basic_auth"
	"github.com/cloudwego/hertz/pkg/app/middlewares/server/recovery"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/utils"
	"github.com/cloudwego/hertz/pkg/protocol/consts"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/hertz"
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
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockhertz.User(signedIn))
	if err != nil {
		return err
	}
	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"))
	if err != nil {
		return err
	}

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	h := server.New(server.WithListener(listener), server.WithHostPorts(listener.Addr().String()), server.WithDisablePrintRoute(true))
	h.Use(recovery.Recovery(), basic_auth.BasicAuth(basic_auth.Accounts{"anna": "tea", "bert": "milk"}))
	h.POST("/orders", interlockhertz.Wrap(orders.Wrap), placeOrder)
	h.POST("/orders/:id/pay", interlockhertz.Wrap(pay), payOrder)

	fmt.Println("listening on http://" + listener.Addr().String())
	context.AfterFunc(ctx, func() { _ = h.Shutdown(context.Background()) })
	if err := h.Run(); err != nil && ctx.Err() == nil {
		return err
	}
	return errors.Join(orders.Close(context.Background()), client.Close(context.Background()))
}

// signedIn returns the user that basic_auth has authenticated.
func signedIn(_ context.Context, c *app.RequestContext) string { return c.GetString("user") }

var placed atomic.Int64

func placeOrder(_ context.Context, c *app.RequestContext) {
	c.JSON(consts.StatusCreated, utils.H{"order": placed.Add(1)})
}

func payOrder(ctx context.Context, c *app.RequestContext) {
	_ = ctx // databases get this context: it ends if the lock is lost
	c.JSON(consts.StatusOK, utils.H{"paid": c.Param("id")})
}
