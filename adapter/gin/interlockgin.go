// Package interlockgin runs Interlock's middleware in gin.
//
//	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockgin.User(signedIn))
//	…
//	router.POST("/orders", interlockgin.Wrap(orders.Wrap), placeOrder)
//
// Package interlockhttp decides what is guarded and how: [Wrap] takes the Wrap method of its
// Once and Submit, and the functions that its Lock and Limit return. The route of a request
// is gin's full path, and interlockhttp.PathValue finds gin's parameters.
//
// Handlers use c.Request.Context(), which ends when a claim or lock is lost, and from which
// guard.Fence and interlockhttp.Settle read. The *gin.Context is that context only if the engine
// has ContextWithFallback.
//
// Use Wrap after gin.Recovery, authentication and logging. Put a middleware that answers
// c.Errors between Wrap and the handler: a response that is written outside the guard cannot
// be kept, so the outcome of such a request is unknown. A middleware that times out must be
// outside, because its handler continues.
package interlockgin

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/adapter"
)

// Wrap returns net/http middleware as a gin handler. It panics if middleware is nil.
func Wrap(middleware func(http.Handler) http.Handler) gin.HandlerFunc {
	if middleware == nil {
		panic("interlockgin: Wrap: the middleware is nil")
	}
	return func(c *gin.Context) {
		x := exchange{c: c, request: c.Request, writer: c.Writer}
		r := adapter.WithContext(c.Request, c, c.FullPath())
		for _, p := range c.Params {
			r.SetPathValue(p.Key, p.Value)
		}
		defer adapter.CopyBack(c.Request, r)
		middleware(http.HandlerFunc(x.next)).ServeHTTP(c.Writer, r)
		switch {
		case !x.ran:
			c.Abort()
		case x.left:
			x.clear()
		}
	}
}

// An exchange is a request on its way through the middleware.
type exchange struct {
	c       *gin.Context
	request *http.Request      // as the outer handlers see it
	writer  gin.ResponseWriter // as the outer handlers see it
	ran     bool               // the middleware has called the next handler
	left    bool               // an outer handler, or gin itself, answers the request
	status  int                // the status that was set for that
}

// next runs the handlers that follow, with the middleware's request and writer.
func (x *exchange) next(w http.ResponseWriter, r *http.Request) {
	c := x.c
	x.ran = true
	inner := &writer{ResponseWriter: x.writer, inner: w, status: x.writer.Status(), size: unwritten}
	c.Request, c.Writer = r, inner
	defer func() { c.Request, c.Writer = x.request, x.writer }() // also after a panic
	errors := len(c.Errors)
	c.Next()
	switch {
	case inner.Written():
	case x.writer.Written(): // past the middleware, as by Engine.HandleContext
		adapter.Streamed(w, x.writer.Status())
	case len(c.Errors) > errors:
		x.leave(w, inner.status, outcome(c.Errors.Last().Err))
	case c.FullPath() == "" && inner.status >= http.StatusBadRequest: // no route: gin answers 404 or 405 after the last handler
		x.leave(w, inner.status, "not-executed")
	default:
		inner.WriteHeaderNow()
	}
}

// leave leaves a response that has not begun to the outer handlers. The middleware gets a
// response with that outcome instead, and does not keep it. gin does not send it: clear
// removes it.
func (x *exchange) leave(w http.ResponseWriter, status int, outcome string) {
	x.left, x.status = true, status
	w.Header().Set(adapter.FieldOutcome, outcome)
	w.WriteHeader(http.StatusInternalServerError)
}

// outcome returns the outcome of a request whose handler reported an error and wrote nothing.
func outcome(err error) string {
	if guard.Classify(err) == guard.ClassNotSent {
		return "not-executed"
	}
	return "unknown"
}

// clear removes what remains of the response of leave.
func (x *exchange) clear() {
	h := x.writer.Header()
	h.Del(adapter.FieldOutcome)
	h.Del("Content-Length")
	x.writer.WriteHeader(x.status) // gin sends it at the end, unless an outer handler sets another one
}

// User is [interlockhttp.User] for a function that reads gin's context, where authentication
// has put the user.
func User(of func(*gin.Context) string) interlockhttp.Option {
	return interlockhttp.User(func(r *http.Request) string { return of(from(r)) })
}

// Func is [interlockhttp.Func] for a function that reads gin's context.
func Func(find func(*gin.Context) (string, error)) interlockhttp.Source {
	return interlockhttp.Func(func(r *http.Request) (string, error) { return find(from(r)) })
}

// WriteProblem is [interlockhttp.WriteProblem] for a function that answers by gin's context,
// such as with c.JSON. Default: the problem is sent as interlockhttp sends it.
func WriteProblem(write func(*gin.Context, *interlockhttp.Problem)) interlockhttp.Option {
	return interlockhttp.WriteProblem(func(_ http.ResponseWriter, r *http.Request, p *interlockhttp.Problem) { write(from(r), p) })
}

// TokenHandler is [interlockhttp.TokenHandler] as a gin handler.
func TokenHandler(t *guard.Tokens, form string, user func(*gin.Context) string, opts ...interlockhttp.Option) gin.HandlerFunc {
	h := interlockhttp.TokenHandler(t, form, func(r *http.Request) string { return user(from(r)) }, opts...)
	return func(c *gin.Context) { h.ServeHTTP(c.Writer, adapter.WithContext(c.Request, c, c.FullPath())) }
}

func from(r *http.Request) *gin.Context { return adapter.MustFrom[*gin.Context](r, "interlockgin") }
