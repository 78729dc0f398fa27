package interlockfiber_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/recover"

	"github.com/interlock-go/interlock/adapter/fiber"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest/httpconformance"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestConformance(t *testing.T) {
	t.Run("buffered", func(t *testing.T) { httpconformance.Run(t, framework) })
	t.Run("streamed", func(t *testing.T) {
		streaming := framework
		streaming.Name += " with streamed requests"
		streaming.Serve = func(t testing.TB, routes []httpconformance.Route) string {
			return serveWith(t, fiber.Config{StreamRequestBody: true}, routes)
		}
		httpconformance.Run(t, streaming)
	})
}

func TestStorm(t *testing.T) {
	child.SkipIfShort(t, "three processes")
	httpconformance.Storm(t, framework,
		func(t testing.TB) string { return redistest.Start(t).URL() },
		func(ctx context.Context, url string) (engine.Engine, error) { return redisengine.Open(ctx, url) })
}

var framework = httpconformance.Framework{
	Name:  "fiber v3",
	Serve: serve,
	User:  interlockfiber.User(user),
	Order: interlockfiber.Func(func(c fiber.Ctx) (string, error) { return c.Get(httpconformance.FieldOrder), nil }),
	Problem: interlockfiber.WriteProblem(func(c fiber.Ctx, p *interlockhttp.Problem) error {
		return c.Status(p.Status).SendString(string(p.Code))
	}),
	Lacks: map[string]string{
		"trailers are replayed": "fasthttp sends trailers only after a streamed body, which is not kept",
	},
}

// user returns the user as authentication does: in a buffer that fiber uses again.
func user(c fiber.Ctx) string {
	name, _ := c.Locals("user").(string)
	return name
}

func serve(t testing.TB, routes []httpconformance.Route) string {
	return serveWith(t, fiber.Config{}, routes)
}

func serveWith(t testing.TB, config fiber.Config, routes []httpconformance.Route) string {
	config.BodyLimit = 64 << 20
	app := fiber.New(config)
	app.Use(recover.New(), outer)
	for _, route := range routes {
		var handlers []any
		for _, wrap := range route.Wraps {
			handlers = append(handlers, interlockfiber.Wrap(wrap))
		}
		if route.Tokens != nil {
			handlers = append(handlers, interlockfiber.TokenHandler(route.Tokens, "order", user))
		} else {
			handlers = append(handlers, func(c fiber.Ctx) error { return route.Handle(exchange{c}) })
		}
		app.Add([]string{route.Method}, route.Path, handlers[0], handlers[1:]...)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	t.Cleanup(func() {
		if err := app.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

// outer is what stands before a route: authentication, and a field of each response.
func outer(c fiber.Ctx) error {
	c.Locals("user", c.Get(httpconformance.FieldUser))
	c.Set(httpconformance.FieldOuter, c.Get(httpconformance.FieldOuter))
	return c.Next()
}

type exchange struct{ c fiber.Ctx }

func (x exchange) Context() context.Context     { return x.c.Context() }
func (x exchange) Param(name string) string     { return x.c.Params(name) }
func (x exchange) SetHeader(name, value string) { x.c.Set(name, value) }
func (x exchange) Body() (string, error)        { return string(x.c.Body()), nil }

func (x exchange) File(name string) (int64, error) {
	file, err := x.c.FormFile(name)
	if err != nil {
		return 0, err
	}
	return file.Size, nil
}

func (x exchange) Send(status int, body string) error {
	return x.c.Status(status).SendString(body)
}

func (x exchange) Stream(chunks func(send func(string) error) error) error {
	return x.c.SendStreamWriter(func(w *bufio.Writer) {
		_ = chunks(func(text string) error {
			if _, err := w.WriteString(text); err != nil {
				return err
			}
			return w.Flush()
		})
	})
}

func (exchange) SendTrailer(string, string, string) error {
	return fiber.NewError(http.StatusNotImplemented)
}

func (x exchange) Upgrade(raw string) error {
	x.c.RequestCtx().HijackSetNoResponse(true)
	x.c.RequestCtx().Hijack(func(conn net.Conn) { _, _ = conn.Write([]byte(raw)) })
	return nil
}
