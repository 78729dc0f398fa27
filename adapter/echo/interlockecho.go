// Package interlockecho runs Interlock's middleware in echo v5. Package echov4 is for echo v4.
//
//	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockecho.User(signedIn))
//	…
//	e.POST("/orders", placeOrder, interlockecho.Wrap(orders.Wrap))
//
// Package interlockhttp decides what is guarded and how: [Wrap] takes the Wrap method of its
// Once and Submit, and the functions that its Lock and Limit return. The route of a request
// is echo's path, and interlockhttp.PathValue finds echo's path parameters.
//
// Do not use echo.WrapMiddleware for a guard: it hides the error of a handler, so an empty
// response with status 200 would be kept. Wrap answers errors with echo's HTTPErrorHandler
// inside the guard, so that a repeat gets the same response, and then returns them to the outer
// middleware. An HTTPErrorHandler of your own must do nothing if the response is committed, as
// echo's own does.
//
// Handlers use c.Request().Context(), which ends when a claim or lock is lost.
package interlockecho

import (
	"net/http"

	"github.com/labstack/echo/v5"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/adapter"
)

// Wrap returns net/http middleware as echo middleware. It panics if middleware is nil.
func Wrap(middleware func(http.Handler) http.Handler) echo.MiddlewareFunc {
	if middleware == nil {
		panic("interlockecho: Wrap: the middleware is nil")
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) (err error) {
			request, response := c.Request(), c.Response()
			r := adapter.WithContext(request, c, c.Path())
			for _, p := range c.PathValues() {
				r.SetPathValue(p.Name, p.Value)
			}
			defer adapter.CopyBack(request, r)
			middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { // also after a panic, and before the response is sent: hooks of outer handlers see their own
					c.SetRequest(request)
					c.SetResponse(response)
				}()
				c.SetRequest(r)
				c.SetResponse(echo.NewResponse(w, c.Logger()))
				if err = next(c); err != nil {
					c.Echo().HTTPErrorHandler(c, err)
				}
			})).ServeHTTP(response, r)
			return err
		}
	}
}

// User is [interlockhttp.User] for a function that reads echo's context, where authentication
// has put the user.
func User(of func(*echo.Context) string) interlockhttp.Option {
	return interlockhttp.User(func(r *http.Request) string { return of(from(r)) })
}

// Func is [interlockhttp.Func] for a function that reads echo's context.
func Func(find func(*echo.Context) (string, error)) interlockhttp.Source {
	return interlockhttp.Func(func(r *http.Request) (string, error) { return find(from(r)) })
}

// WriteProblem is [interlockhttp.WriteProblem] for a function that answers by echo's context,
// such as with c.JSON. An error that it returns goes to echo's HTTPErrorHandler. Default: the
// problem is sent as interlockhttp sends it.
func WriteProblem(write func(*echo.Context, *interlockhttp.Problem) error) interlockhttp.Option {
	return interlockhttp.WriteProblem(func(_ http.ResponseWriter, r *http.Request, p *interlockhttp.Problem) {
		c := from(r)
		if err := write(c, p); err != nil {
			c.Echo().HTTPErrorHandler(c, err)
		}
	})
}

// TokenHandler is [interlockhttp.TokenHandler] as an echo handler.
func TokenHandler(t *guard.Tokens, form string, user func(*echo.Context) string, opts ...interlockhttp.Option) echo.HandlerFunc {
	h := interlockhttp.TokenHandler(t, form, func(r *http.Request) string { return user(from(r)) }, opts...)
	return func(c *echo.Context) error {
		h.ServeHTTP(c.Response(), adapter.WithContext(c.Request(), c, c.Path()))
		return nil
	}
}

func from(r *http.Request) *echo.Context { return adapter.MustFrom[*echo.Context](r, "interlockecho") }
