// Package interlockgozero runs Interlock's middleware in the REST servers of go-zero.
//
//	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockgozero.Claim("userId"))
//	…
//	server.AddRoutes(interlockgozero.WithMiddleware(orders.Wrap, routes...), rest.WithJwt(secret))
//
// Package interlockhttp decides what is guarded and how: [WithMiddleware] and [Middleware] take
// the Wrap method of its Once and Submit, and the functions that its Lock and Limit return.
// interlockhttp.PathValue finds the path parameters of go-zero.
//
// The server's Timeout, 3 seconds by default, answers 503. It does not stop a guarded handler:
// that runs to its end, and a repeat gets the response.
//
// Locks of go-zero itself (redis.RedisLock) are neither renewed nor fenced, and share no keys
// with Interlock's.
package interlockgozero

import (
	"encoding/json"
	"net/http"

	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/httpx"
	"github.com/zeromicro/go-zero/rest/pathvar"

	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/adapter"
)

// WithMiddleware is [rest.WithMiddleware] for net/http middleware. It panics if middleware is
// nil.
func WithMiddleware(middleware func(http.Handler) http.Handler, routes ...rest.Route) []rest.Route {
	mustHave(middleware, "WithMiddleware")
	wrapped := make([]rest.Route, len(routes))
	for i, r := range routes {
		r.Handler = wrap(middleware, r.Path, r.Handler)
		wrapped[i] = r
	}
	return wrapped
}

// Middleware returns net/http middleware as go-zero's, for Server.Use and for the middlewares
// of an .api file. It panics if middleware is nil.
//
// go-zero does not tell its middleware the route of a request. With the scope guard.PerRoute,
// keys belong to the path instead. [WithMiddleware] knows the route.
func Middleware(middleware func(http.Handler) http.Handler) rest.Middleware {
	mustHave(middleware, "Middleware")
	return func(next http.HandlerFunc) http.HandlerFunc { return wrap(middleware, "", next) }
}

// wrap returns next behind the middleware, which finds the path parameters as net/http's.
func wrap(middleware func(http.Handler) http.Handler, route string, next http.HandlerFunc) http.HandlerFunc {
	h := middleware(next)
	return func(w http.ResponseWriter, r *http.Request) {
		vars := pathvar.Vars(r)
		original := r
		r = r.WithContext(r.Context()) // a copy, since the outer handlers keep theirs
		defer adapter.CopyBack(original, r)
		if route != "" {
			r.Pattern = adapter.Pattern(route)
		}
		for name, value := range vars {
			r.SetPathValue(name, value)
		}
		h.ServeHTTP(w, r)
	}
}

// Claim is [interlockhttp.User] for the claim of the token that rest.WithJwt has verified. A
// request without the claim has no user.
func Claim(name string) interlockhttp.Option {
	return interlockhttp.User(func(r *http.Request) string {
		switch claim := r.Context().Value(name).(type) {
		case string:
			return claim
		case json.Number:
			return claim.String()
		}
		return ""
	})
}

// WriteProblem answers problems by the error handler of httpx.SetErrorHandler or
// httpx.SetErrorHandlerCtx. Without one, and by default, a problem is sent as interlockhttp
// sends it.
func WriteProblem() interlockhttp.Option {
	return interlockhttp.WriteProblem(func(w http.ResponseWriter, r *http.Request, p *interlockhttp.Problem) {
		httpx.ErrorCtx(r.Context(), w, p, func(w http.ResponseWriter, _ error) { p.ServeHTTP(w, r) })
	})
}

func mustHave(middleware func(http.Handler) http.Handler, name string) {
	if middleware == nil {
		panic("interlockgozero: " + name + ": the middleware is nil")
	}
}
