package interlockgin_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/interlock-go/interlock/adapter/gin"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest/httpconformance"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestConformance(t *testing.T) { httpconformance.Run(t, framework) }

func TestStorm(t *testing.T) {
	child.SkipIfShort(t, "three processes")
	httpconformance.Storm(t, framework,
		func(t testing.TB) string { return redistest.Start(t).URL() },
		func(ctx context.Context, url string) (engine.Engine, error) { return redisengine.Open(ctx, url) })
}

var framework = httpconformance.Framework{
	Name:  "gin",
	Serve: serve,
	User:  interlockgin.User(func(c *gin.Context) string { return c.GetString("user") }),
	Order: interlockgin.Func(func(c *gin.Context) (string, error) { return c.GetHeader(httpconformance.FieldOrder), nil }),
	Problem: interlockgin.WriteProblem(func(c *gin.Context, p *interlockhttp.Problem) {
		c.String(p.Status, "%s", string(p.Code))
	}),
	OuterErrors: true,
}

func serve(t testing.TB, routes []httpconformance.Route) string {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.Use(gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, _ any) { c.AbortWithStatus(http.StatusInternalServerError) }), outer)
	for _, route := range routes {
		var handlers []gin.HandlerFunc
		for _, wrap := range route.Wraps {
			handlers = append(handlers, interlockgin.Wrap(wrap))
		}
		if route.Tokens != nil {
			handlers = append(handlers, interlockgin.TokenHandler(route.Tokens, "order", func(c *gin.Context) string { return c.GetString("user") }))
		} else {
			handlers = append(handlers, func(c *gin.Context) {
				if err := route.Handle(exchange{c}); err != nil {
					_ = c.Error(err)
				}
			})
		}
		router.Handle(route.Method, route.Path, handlers...)
	}
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	return server.URL
}

// outer is what stands before a route: authentication, and a middleware that answers the
// errors of handlers.
func outer(c *gin.Context) {
	c.Set("user", c.GetHeader(httpconformance.FieldUser))
	c.Header(httpconformance.FieldOuter, c.GetHeader(httpconformance.FieldOuter))
	c.Next()
	if len(c.Errors) > 0 && !c.Writer.Written() {
		c.JSON(http.StatusInternalServerError, gin.H{"error": c.Errors.String()})
	}
}

type exchange struct{ c *gin.Context }

func (x exchange) Context() context.Context     { return x.c.Request.Context() }
func (x exchange) Param(name string) string     { return x.c.Param(name) }
func (x exchange) SetHeader(name, value string) { x.c.Header(name, value) }

func (x exchange) Body() (string, error) {
	body, err := x.c.GetRawData()
	return string(body), err
}

func (x exchange) File(name string) (int64, error) {
	file, err := x.c.FormFile(name)
	if err != nil {
		return 0, err
	}
	return file.Size, nil
}

func (x exchange) Send(status int, body string) error {
	if body == "" {
		x.c.Status(status) // gin sends it after the last handler
		return nil
	}
	x.c.String(status, "%s", body)
	return nil
}

func (x exchange) Stream(chunks func(send func(string) error) error) error {
	return chunks(func(text string) error {
		_, err := x.c.Writer.WriteString(text)
		x.c.Writer.Flush()
		return err
	})
}

func (x exchange) SendTrailer(body, name, value string) error {
	x.c.Header("Trailer", name)
	x.c.String(http.StatusOK, "%s", body)
	x.c.Header(name, value)
	return nil
}

func (x exchange) Upgrade(raw string) error {
	conn, rw, err := x.c.Writer.Hijack()
	if err != nil {
		return err
	}
	_, err = rw.WriteString(raw)
	return errors.Join(err, rw.Flush(), conn.Close())
}
