package interlockecho_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"

	"github.com/interlock-go/interlock/adapter/echo"
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
	Name:  "echo v5",
	Serve: serve,
	User:  interlockecho.User(user),
	Order: interlockecho.Func(func(c *echo.Context) (string, error) {
		return c.Request().Header.Get(httpconformance.FieldOrder), nil
	}),
	Problem: interlockecho.WriteProblem(func(c *echo.Context, p *interlockhttp.Problem) error {
		return c.String(p.Status, string(p.Code))
	}),
}

func user(c *echo.Context) string {
	name, _ := c.Get("user").(string)
	return name
}

func serve(t testing.TB, routes []httpconformance.Route) string {
	e := echo.New()
	e.Logger = slog.New(slog.DiscardHandler)
	e.Use(middleware.Recover(), outer)
	for _, route := range routes {
		var wraps []echo.MiddlewareFunc
		for _, wrap := range route.Wraps {
			wraps = append(wraps, interlockecho.Wrap(wrap))
		}
		handler := func(c *echo.Context) error { return route.Handle(exchange{c}) }
		if route.Tokens != nil {
			handler = interlockecho.TokenHandler(route.Tokens, "order", user)
		}
		e.Add(route.Method, route.Path, handler, wraps...)
	}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return server.URL
}

// outer is what stands before a route: authentication, and a field of each response.
func outer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c *echo.Context) error {
		c.Set("user", c.Request().Header.Get(httpconformance.FieldUser))
		c.Response().Header().Set(httpconformance.FieldOuter, c.Request().Header.Get(httpconformance.FieldOuter))
		return next(c)
	}
}

type exchange struct{ c *echo.Context }

func (x exchange) Context() context.Context     { return x.c.Request().Context() }
func (x exchange) Param(name string) string     { return x.c.Param(name) }
func (x exchange) SetHeader(name, value string) { x.c.Response().Header().Set(name, value) }

func (x exchange) Body() (string, error) {
	body, err := io.ReadAll(x.c.Request().Body)
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
		return x.c.NoContent(status)
	}
	return x.c.String(status, body)
}

func (x exchange) Stream(chunks func(send func(string) error) error) error {
	return chunks(func(text string) error {
		_, err := io.WriteString(x.c.Response(), text)
		return errors.Join(err, http.NewResponseController(x.c.Response()).Flush())
	})
}

func (x exchange) SendTrailer(body, name, value string) error {
	x.SetHeader("Trailer", name)
	err := x.c.String(http.StatusOK, body)
	x.SetHeader(name, value)
	return err
}

func (x exchange) Upgrade(raw string) error {
	conn, rw, err := http.NewResponseController(x.c.Response()).Hijack()
	if err != nil {
		return err
	}
	_, err = rw.WriteString(raw)
	return errors.Join(err, rw.Flush(), conn.Close())
}
