package interlockgin_test

import (
	"github.com/gin-gonic/gin"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/gin"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// An order is placed once per key, and one request at a time pays it.
func Example() {
	client := interlock.New(nil) // or an engine such as Redis
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockgin.User(func(c *gin.Context) string { return c.GetString(gin.AuthUserKey) }))
	if err != nil {
		panic(err)
	}
	pay, err := interlockhttp.Lock(client, "pay", interlockhttp.PathValue("id"))
	if err != nil {
		panic(err)
	}

	router := gin.New()
	router.Use(gin.Recovery(), gin.BasicAuth(gin.Accounts{"anna": "tea"}))
	router.POST("/orders", interlockgin.Wrap(orders.Wrap), func(c *gin.Context) { c.String(201, "placed") })
	router.POST("/orders/:id/pay", interlockgin.Wrap(pay), func(c *gin.Context) { c.String(200, "paid") })
}
