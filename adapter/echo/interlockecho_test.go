package interlockecho_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"

	"github.com/interlock-go/interlock/adapter/echo"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
)

// orders returns a guard for the user ann.
func orders(t *testing.T, opts ...interlockhttp.Option) echo.MiddlewareFunc {
	t.Helper()
	opts = append(opts, interlockecho.User(func(*echo.Context) string { return "ann" }))
	m, err := interlockhttp.Once(interlocktest.New(t).Client(), guard.Charge("orders"), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return interlockecho.Wrap(m.Wrap)
}

// hook adds a function that runs before the response is sent.
func hook(t *testing.T, c *echo.Context, f func()) {
	t.Helper()
	response, err := echo.UnwrapResponse(c.Response())
	if err != nil {
		t.Error(err)
		return
	}
	response.Before(f)
}

func send(t *testing.T, h http.Handler, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Idempotency-Key", "k1")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(text)
}

// Compression, hooks and fields of other middleware work outside of the guard and inside.
func TestMiddleware(t *testing.T) {
	outside := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			hook(t, c, func() { c.SetCookie(&http.Cookie{Name: "outside", Value: "1"}) })
			return next(c)
		}
	}
	inside := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			hook(t, c, func() { c.SetCookie(&http.Cookie{Name: "inside", Value: "1"}) })
			return next(c)
		}
	}
	e := echo.New()
	e.Use(middleware.Gzip(), middleware.BodyLimit(1<<20), middleware.RequestID(), outside)
	e.POST("/orders", func(c *echo.Context) error { return c.String(http.StatusCreated, strings.Repeat("order ", 1000)) }, orders(t), inside, middleware.BodyDump(func(*echo.Context, []byte, []byte, error) {}))
	for i := range 3 {
		r, text := send(t, e, "POST", "/orders", "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v: %q %v", err, text, r)
		}
		plain, err := io.ReadAll(z)
		if err != nil || string(plain) != strings.Repeat("order ", 1000) || r.StatusCode != http.StatusCreated {
			t.Errorf("got %d %q (%v)", r.StatusCode, plain, err)
		}
		var names []string
		for _, cookie := range r.Cookies() {
			names = append(names, cookie.Name)
		}
		want := "outside"
		if i == 0 {
			want = "inside outside"
		}
		slices.Sort(names)
		if strings.Join(names, " ") != want {
			t.Errorf("got the cookies %v, want %s", names, want)
		}
		if len(r.Header.Values("X-Request-Id")) != 1 {
			t.Errorf("got %v", r.Header)
		}
	}
}

// The routes of a server with a guard for all of it answer as without the guard.
func TestGlobal(t *testing.T) {
	e := echo.New()
	e.Use(orders(t))
	e.GET("/orders", func(c *echo.Context) error { return c.String(http.StatusOK, "list") })
	e.POST("/fail", func(*echo.Context) error { return errors.New("no") })
	for request, want := range map[string]string{
		"GET /orders":  "200 list",
		"GET /nothing": `404 {"message":"Not Found"}`,
		"POST /orders": `405 {"message":"Method Not Allowed"}`,
		"POST /fail":   `500 {"message":"Internal Server Error"}`,
	} {
		method, path, _ := strings.Cut(request, " ")
		r, text := send(t, e, method, path, "Idempotency-Key", path) // a key of its own, since the order varies
		if got := fmt.Sprint(r.StatusCode, " ", strings.TrimSpace(text)); got != want {
			t.Errorf("%s: got %q, want %q", request, got, want)
		}
	}
}
