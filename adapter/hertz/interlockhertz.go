// Package interlockhertz runs Interlock's middleware in Hertz.
//
//	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockhertz.User(signedIn))
//	…
//	h.POST("/orders", interlockhertz.Wrap(orders.Wrap), placeOrder)
//
// Package interlockhttp decides what is guarded and how: [Wrap] takes the Wrap method of its
// Once and Submit, and the functions that its Lock and Limit return. The route of a request
// is Hertz's full path, and interlockhttp.PathValue finds its parameters.
//
// Handlers use their [context.Context], which ends when a claim or lock is lost, and from which
// guard.Fence and interlockhttp.Settle read. The request is copied for the middleware, so
// nothing of Hertz's is used after a request has ended.
//
// Use Wrap after recovery and authentication. Put a middleware that answers c.Errors between
// Wrap and the handler: a response that is written outside the guard cannot be kept, so the
// outcome of such a request is unknown.
//
// Hertz sends a streamed response after the handlers have returned. The guard does not keep it,
// and a lock does not cover it. If its length is known, up to 1 MiB, it is read first, and kept.
package interlockhertz

import (
	"context"
	"net/http"
	"strings"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/protocol/consts"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/adapter"
)

// Wrap returns net/http middleware as a Hertz handler. It panics if middleware is nil.
func Wrap(middleware func(http.Handler) http.Handler) app.HandlerFunc {
	if middleware == nil {
		panic("interlockhertz: Wrap: the middleware is nil")
	}
	return func(ctx context.Context, c *app.RequestContext) {
		r, body, err := request(ctx, c)
		if err != nil {
			c.AbortWithMsg(err.Error(), consts.StatusBadRequest)
			return
		}
		x := exchange{c: c, body: body}
		w := adapter.NewMemory(header(c))
		middleware(http.HandlerFunc(x.next)).ServeHTTP(w, r)
		w.End()
		x.send(w)
		if !x.ran {
			c.Abort()
		}
		if body != nil && (!x.ran || body.Begun) && !body.Drain() { // otherwise Hertz does it
			c.SetConnectionClose()
		}
	}
}

// An exchange is a request on its way through the middleware.
type exchange struct {
	c      *app.RequestContext
	body   *adapter.Stream // the body of the request, if Hertz streams it
	ran    bool            // the middleware has called the next handler
	kept   bool            // the body of Hertz's response stays as the handler left it
	failed bool            // an outer handler answers the request
}

// next runs the handlers that follow, and passes their response to the middleware.
func (x *exchange) next(w http.ResponseWriter, r *http.Request) {
	c := x.c
	x.ran = true
	if x.body != nil && x.body.Begun { // the middleware has read it, and has a copy
		c.Request.SetBodyStream(r.Body, int(r.ContentLength))
	}
	setHeader(c, w.Header()) // the handler may change the fields of the middleware
	errors := len(c.Errors)
	c.Next(r.Context())
	if len(c.Errors) > errors && c.Response.StatusCode() == consts.StatusOK && !c.Response.IsBodyStream() && len(c.Response.Body()) == 0 {
		x.leaveToOuter(w, c.Errors.Last().Err)
		return
	}
	x.pass(w)
}

// leaveToOuter ends a request whose handler reported an error and wrote nothing: an outer
// handler may answer it. The middleware sees a response that it does not keep, and that is
// not sent.
func (x *exchange) leaveToOuter(w http.ResponseWriter, err error) {
	x.failed = true
	outcome := "unknown"
	if guard.Classify(err) == guard.ClassNotSent {
		outcome = "not-executed"
	}
	w.Header().Set(adapter.FieldOutcome, outcome)
	w.WriteHeader(http.StatusInternalServerError)
}

// pass passes Hertz's response to the middleware.
func (x *exchange) pass(w http.ResponseWriter) {
	response := &x.c.Response
	const maxRead = 1 << 20
	length := response.Header.ContentLength()
	x.kept = x.c.Hijacked() || response.GetHijackWriter() != nil || response.IsBodyStream() && (length < 0 || length > maxRead)
	if !x.kept && response.IsBodyStream() {
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

// send turns the middleware's response into Hertz's.
func (x *exchange) send(w *adapter.Memory) {
	response := &x.c.Response
	if x.failed {
		w.Header().Del(adapter.FieldOutcome)
		setHeader(x.c, w.Header())
		return
	}
	setHeader(x.c, w.Header())
	response.SetStatusCode(w.Status)
	if !x.kept {
		response.SetBody(w.Body) // a raw body is lost when an outer handler appends to it
	}
}

// User is [interlockhttp.User] for a function that reads Hertz's context, where authentication
// has put the user.
func User(of func(context.Context, *app.RequestContext) string) interlockhttp.Option {
	return interlockhttp.User(userOf(of))
}

// userOf copies the user, because a string of Hertz's may change when it reuses the buffer.
func userOf(of func(context.Context, *app.RequestContext) string) func(*http.Request) string {
	return func(r *http.Request) string { return strings.Clone(of(r.Context(), from(r))) }
}

// Func is [interlockhttp.Func] for a function that reads Hertz's context.
func Func(find func(context.Context, *app.RequestContext) (string, error)) interlockhttp.Source {
	return interlockhttp.Func(func(r *http.Request) (string, error) {
		key, err := find(r.Context(), from(r))
		return strings.Clone(key), err
	})
}

// WriteProblem is [interlockhttp.WriteProblem] for a function that answers by Hertz's context,
// such as with c.JSON. Default: the problem is sent as interlockhttp sends it.
func WriteProblem(write func(context.Context, *app.RequestContext, *interlockhttp.Problem)) interlockhttp.Option {
	return interlockhttp.WriteProblem(func(w http.ResponseWriter, r *http.Request, p *interlockhttp.Problem) {
		x := exchange{c: from(r)}
		setHeader(x.c, w.Header()) // a lock or limit has set some
		write(r.Context(), x.c, p)
		x.pass(w)
	})
}

// TokenHandler is [interlockhttp.TokenHandler] as a Hertz handler.
func TokenHandler(t *guard.Tokens, form string, user func(context.Context, *app.RequestContext) string, opts ...interlockhttp.Option) app.HandlerFunc {
	h := interlockhttp.TokenHandler(t, form, userOf(user), opts...)
	return Wrap(func(http.Handler) http.Handler { return h })
}

func from(r *http.Request) *app.RequestContext {
	return adapter.MustFrom[*app.RequestContext](r, "interlockhertz")
}
