// Program gin is an order service with gin: an order is placed once per key, and one request
// at a time pays it.
//
//	go run ./examples/gin
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

	"github.com/gin-gonic/gin"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/gin"
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
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockgin.User(signedIn))
	if err != nil {
		return err
	}
	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"))
	if err != nil {
		return err
	}

	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.Use(gin.Recovery(), gin.BasicAuth(gin.Accounts{"anna": "tea", "bert": "milk"}))
	router.POST("/orders", interlockgin.Wrap(orders.Wrap), placeOrder)
	router.POST("/orders/:id/pay", interlockgin.Wrap(pay), payOrder)

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

// signedIn returns the user that gin.BasicAuth has authenticated.
func signedIn(c *gin.Context) string { return c.GetString(gin.AuthUserKey) }

var placed atomic.Int64

func placeOrder(c *gin.Context) {
	c.JSON(http.StatusCreated, gin.H{"order": placed.Add(1)})
}

func payOrder(c *gin.Context) {
	// Databases get this context: it ends if the lock is lost.
	_ = c.Request.Context()
	c.JSON(http.StatusOK, gin.H{"paid": c.Param("id")})
}
