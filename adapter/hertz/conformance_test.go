package interlockhertz_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/middlewares/server/recovery"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/config"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/cloudwego/hertz/pkg/common/utils"
	"github.com/cloudwego/hertz/pkg/network"
	"github.com/cloudwego/hertz/pkg/network/standard"
	"github.com/cloudwego/hertz/pkg/protocol/consts"

	"github.com/interlock-go/interlock/adapter/hertz"
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
			return serveWith(t, routes, server.WithStreamBody(true), server.WithTransport(standard.NewTransporter))
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

func TestMain(m *testing.M) {
	hlog.SetOutput(io.Discard)
	m.Run()
}

var framework = httpconformance.Framework{
	Name:  "Hertz",
	Serve: serve,
	User:  interlockhertz.User(user),
	Order: interlockhertz.Func(func(_ context.Context, c *app.RequestContext) (string, error) {
		return string(c.GetHeader(httpconformance.FieldOrder)), nil
	}),
	Problem: interlockhertz.WriteProblem(func(_ context.Context, c *app.RequestContext, p *interlockhttp.Problem) {
		c.String(p.Status, "%s", string(p.Code))
	}),
	OuterErrors: true,
	Lacks: map[string]string{
		"trailers are replayed": "Hertz sends trailers only after a streamed body, which is not kept",
	},
}

func user(_ context.Context, c *app.RequestContext) string { return c.GetString("user") }

func serve(t testing.TB, routes []httpconformance.Route) string { return serveWith(t, routes) }

func serveWith(t testing.TB, routes []httpconformance.Route, opts ...config.Option) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	opts = append(opts, server.WithListener(listener), server.WithHostPorts(address), server.WithExitWaitTime(10*time.Millisecond), server.WithDisablePrintRoute(true), server.WithMaxRequestBodySize(64<<20))
	h := server.New(opts...)
	h.Use(recovery.Recovery(), outer)
	for _, route := range routes {
		var handlers []app.HandlerFunc
		for _, wrap := range route.Wraps {
			handlers = append(handlers, interlockhertz.Wrap(wrap))
		}
		if route.Tokens != nil {
			handlers = append(handlers, interlockhertz.TokenHandler(route.Tokens, "order", user))
		} else {
			handlers = append(handlers, func(ctx context.Context, c *app.RequestContext) {
				if err := route.Handle(exchange{ctx, c}); err != nil {
					_ = c.Error(err)
				}
			})
		}
		h.Handle(route.Method, route.Path, handlers...)
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Run() }()
	for !h.IsRunning() { // Hertz says it in no other way
		time.Sleep(time.Millisecond)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = h.Shutdown(ctx) // it fails if a client keeps a connection
		<-ended
	})
	return "http://" + address
}

// outer is what stands before a route: authentication, and a middleware that answers the
// errors of handlers.
func outer(ctx context.Context, c *app.RequestContext) {
	c.Set("user", string(c.GetHeader(httpconformance.FieldUser)))
	c.Header(httpconformance.FieldOuter, string(c.GetHeader(httpconformance.FieldOuter)))
	c.Next(ctx)
	if len(c.Errors) > 0 && len(c.Response.Body()) == 0 {
		c.JSON(consts.StatusInternalServerError, utils.H{"error": c.Errors.String()})
	}
}

type exchange struct {
	ctx context.Context //nolint:containedctx // the handler's
	c   *app.RequestContext
}

func (x exchange) Context() context.Context     { return x.ctx }
func (x exchange) Param(name string) string     { return x.c.Param(name) }
func (x exchange) SetHeader(name, value string) { x.c.Header(name, value) }

func (x exchange) Body() (string, error) {
	body, err := x.c.Body()
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
	x.c.String(status, "%s", body)
	return nil
}

func (x exchange) Stream(chunks func(send func(string) error) error) error {
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(chunks(func(text string) error {
			_, err := io.WriteString(w, text)
			return err
		}))
	}()
	x.c.SetBodyStream(r, -1)
	return nil
}

func (exchange) SendTrailer(string, string, string) error { return io.ErrUnexpectedEOF }

func (x exchange) Upgrade(raw string) error {
	x.c.SetStatusCode(consts.StatusSwitchingProtocols)
	x.c.Header("Connection", "Upgrade")
	x.c.Header("Upgrade", "echo")
	_, hello, _ := strings.Cut(raw, "\r\n\r\n") // Hertz sends the header itself
	x.c.Hijack(func(conn network.Conn) {
		_, _ = conn.WriteBinary([]byte(hello))
		_ = conn.Flush()
	})
	return nil
}
