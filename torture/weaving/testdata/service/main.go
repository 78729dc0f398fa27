// Service is a gin service whose orders are protected by directives only:
//
//	service REDIS PROVIDER
//
// It prints its address, and serves until its input ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/woven"

	"example.com/service/orders"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: service REDIS PROVIDER")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, redis, provider string) error {
	engine, err := redisengine.Open(ctx, redis)
	if err != nil {
		return err
	}
	defer engine.Close()
	client := interlock.New(engine)
	interlock.SetDefault(client)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: routes(orders.New(provider)), ReadHeaderTimeout: 30 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }() // until Shutdown
	fmt.Println(l.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)

	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err = errors.Join(server.Shutdown(ctx), client.Close(ctx))
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

func routes(s *orders.Service) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(gin.Recovery())
	for path, work := range map[string]func(context.Context, string) (orders.Receipt, error){
		"/orders/:id/charge": s.Charge,
		"/orders/:id/notify": s.Notify,
		"/orders/:id/pack":   s.Pack,
	} {
		r.POST(path, func(c *gin.Context) {
			receipt, err := work(c.Request.Context(), c.Param("id"))
			if err != nil {
				refuse(c, err)
				return
			}
			c.JSON(http.StatusOK, receipt)
		})
	}
	return r
}

// refuse sends the error of a function with a directive.
func refuse(c *gin.Context, err error) {
	var (
		duplicate *guard.DuplicateError
		refused   *woven.RefusedError
		message   guard.Message
	)
	code, status := "failed", http.StatusInternalServerError
	switch {
	case errors.Is(err, guard.ErrUnknown): // the work may be done: the client must not retry
		code, status = "outcome_unknown", http.StatusConflict
	case errors.As(err, &duplicate):
		code, status = "duplicate", duplicate.Status
	case errors.Is(err, interlock.ErrContended):
		code, status = "locked", http.StatusLocked
	case errors.Is(err, guard.ErrDown), errors.Is(err, interlock.ErrUnavailable):
		code, status = "store_unavailable", http.StatusServiceUnavailable
	}
	if errors.As(err, &refused) {
		message = refused.Message
	}
	log.Print(err)
	c.JSON(status, gin.H{"code": code, "message": message})
}
