// Package interlockfiber runs Interlock's middleware in fiber v3.
//
//	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockfiber.User(signedIn))
//	…
//	app.Post("/orders", interlockfiber.Wrap(orders.Wrap), placeOrder)
//
// Package interlockhttp decides what is guarded and how: [Wrap] takes the Wrap method of its
// Once and Submit, and the functions that its Lock and Limit return. The route of a request
// is the path of fiber's route, and interlockhttp.PathValue finds its parameters, if Wrap is
// a handler of the route: a middleware of App.Use does not know them.
//
// The app's ErrorHandler answers the error of a handler inside the guard, so that a repeat gets
// the same response. Use Wrap after fiber's recover middleware. The outcome of a request that
// fiber's timeout has answered is unknown, because its handler continues.
//
// Handlers use c.Context(), which ends when a claim or lock is lost. The request is copied
// for the middleware, so nothing of fiber's is used after a request has ended.
//
// fiber sends a streamed response after the handlers have returned. The guard does not keep it,
// and a lock does not cover it. If its length is known, up to 1 MiB, it is read first, and kept.
package interlockfiber

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v3"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/adapter"
)

// Wrap returns net/http middleware as a fiber handler. It panics if middleware is nil.
func Wrap(middleware func(http.Handler) http.Handler) fiber.Handler {
	if middleware == nil {
		panic("interlockfiber: Wrap: the middleware is nil")
	}
	return func(c fiber.Ctx) error {
		r, body, err := request(c)
		if err != nil {
			return fiber.NewError(fiber.StatusBadRequest, err.Error())
		}
		x := exchange{c: c, body: body}
		w := adapter.NewMemory(header(c))
		middleware(http.HandlerFunc(x.next)).ServeHTTP(w, r)
		if c.IsAbandoned() { // fiber's timeout has answered, and a handler may still use c
			return nil
		}
		w.End()
		setHeader(c, w.Header())
		c.Status(w.Status)
		if !x.kept {
			c.Response().SetBody(w.Body) // a raw body is lost when an outer handler appends to it
		}
		if body != nil && !x.ran && !body.Drain() {
			c.Response().SetConnectionClose()
		}
		return nil
	}
}

// An exchange is a request on its way through the middleware.
type exchange struct {
	c    fiber.Ctx
	body *adapter.Stream // the body of the request, if fiber streams it
	ran  bool            // the middleware has called the next handler
	kept bool            // the body of fiber's response stays as the handler left it
}

// next runs the handlers that follow, and passes their response to the middleware.
func (x *exchange) next(w http.ResponseWriter, r *http.Request) {
	c := x.c
	defer func(outer context.Context) { // also after a panic
		if !c.IsAbandoned() {
			c.SetContext(outer)
		}
	}(c.Context())
	c.SetContext(r.Context())
	x.ran = true
	if err := x.restoreBody(r); err != nil {
		x.answer(w, func() error { return fiber.NewError(fiber.StatusBadRequest, err.Error()) })
		return
	}
	setHeader(c, w.Header()) // the handler may change the fields of the middleware
	x.answer(w, c.Next)
}

// answer passes the response that a handler makes to the middleware.
func (x *exchange) answer(w http.ResponseWriter, handle func() error) {
	c := x.c
	err := handle()
	if c.IsAbandoned() {
		adapter.Streamed(w, fiber.StatusGatewayTimeout) // not the handler's response: the outcome is unknown
		return
	}
	if err != nil {
		if err = c.App().ErrorHandler(c, err); err != nil {
			c.Status(fiber.StatusInternalServerError) // as fiber does
		}
	}
	response := c.Response()
	const maxRead = 1 << 20
	length := response.Header.ContentLength()
	if x.kept = c.RequestCtx().Hijacked() || response.IsBodyStream() && (length < 0 || length > maxRead); !x.kept && response.IsBodyStream() {
		text, broken := adapter.ReadStream(response.BodyStream(), length)
		if x.kept = broken != nil; x.kept {
			response.SetBodyStream(broken, length)
		} else {
			response.SetBody(text)
		}
	}
	if x.kept {
		copyHeader(w.Header(), response, true)
		adapter.Streamed(w, response.StatusCode())
		return
	}
	body := response.Body()
	copyHeader(w.Header(), response, len(body) > 0)
	w.WriteHeader(response.StatusCode())
	if len(body) > 0 {
		_, _ = w.Write(body) // an error concerns a status without a body
	}
}

// restoreBody gives the handlers a streamed body that the middleware has read, from its copy.
func (x *exchange) restoreBody(r *http.Request) error {
	if x.body == nil || !x.body.Begun {
		return nil
	}
	// If the middleware has read a part, as in shadow mode, the rest is read now: fasthttp
	// reuses its stream once another one replaces it.
	text, err := io.ReadAll(r.Body)
	if err == nil {
		x.c.Request().SetBodyStream(bytes.NewReader(text), len(text))
	}
	return err
}

// User is [interlockhttp.User] for a function that reads fiber's context, where authentication
// has put the user.
func User(of func(fiber.Ctx) string) interlockhttp.Option {
	return interlockhttp.User(func(r *http.Request) string { return strings.Clone(of(from(r))) })
}

// Func is [interlockhttp.Func] for a function that reads fiber's context.
func Func(find func(fiber.Ctx) (string, error)) interlockhttp.Source {
	return interlockhttp.Func(func(r *http.Request) (string, error) {
		key, err := find(from(r))
		return strings.Clone(key), err // fiber's strings change when it reuses their buffer
	})
}

// WriteProblem is [interlockhttp.WriteProblem] for a function that answers by fiber's context,
// such as with c.JSON. The app's ErrorHandler answers an error that it returns. Default: the
// problem is sent as interlockhttp sends it.
func WriteProblem(write func(fiber.Ctx, *interlockhttp.Problem) error) interlockhttp.Option {
	return interlockhttp.WriteProblem(func(w http.ResponseWriter, r *http.Request, p *interlockhttp.Problem) {
		x := exchange{c: from(r)}
		setHeader(x.c, w.Header()) // a lock or limit has set some
		x.answer(w, func() error { return write(x.c, p) })
	})
}

// TokenHandler is [interlockhttp.TokenHandler] as a fiber handler.
func TokenHandler(t *guard.Tokens, form string, user func(fiber.Ctx) string, opts ...interlockhttp.Option) fiber.Handler {
	h := interlockhttp.TokenHandler(t, form, func(r *http.Request) string { return strings.Clone(user(from(r))) }, opts...)
	return Wrap(func(http.Handler) http.Handler { return h })
}

func from(r *http.Request) fiber.Ctx { return adapter.MustFrom[fiber.Ctx](r, "interlockfiber") }
