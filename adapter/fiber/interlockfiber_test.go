package interlockfiber_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v3"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/fiber"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
)

// orders returns a guard for the user ann.
func orders(t *testing.T, opts ...interlockhttp.Option) func(http.Handler) http.Handler {
	t.Helper()
	opts = append(opts, interlockfiber.User(func(fiber.Ctx) string { return "ann" }))
	m, err := interlockhttp.Once(interlocktest.New(t).Client(), guard.Charge("orders"), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m.Wrap
}

// start serves an app.
func start(t *testing.T, app *fiber.App) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := errors.Join(app.Shutdown(), <-ended); err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

// send sends a request with the key k1.
func send(t *testing.T, method, url string, body io.Reader) (response *http.Response, text string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", "k1")
	response, err = http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	return response, string(got), err
}

// brokenReader fails after some bytes.
func brokenReader() io.Reader {
	return io.MultiReader(strings.NewReader("half"), readerFunc(func([]byte) (int, error) { return 0, errors.New("the disk failed") }))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestBrokenBody(t *testing.T) {
	for what, body := range map[string]func() io.Reader{
		"an error": brokenReader,
		"the end":  func() io.Reader { return strings.NewReader("half") },
	} {
		t.Run(what, func(t *testing.T) {
			app := fiber.New()
			app.Post("/orders", interlockfiber.Wrap(orders(t)), func(c fiber.Ctx) error { return c.SendStream(body(), 8) })
			url := start(t, app)
			if r, text, err := send(t, "POST", url+"/orders", nil); err == nil {
				t.Errorf("first: got %d %q, want a broken response", r.StatusCode, text)
			}
			r, text, err := send(t, "POST", url+"/orders", nil)
			if err != nil || r.StatusCode != http.StatusConflict {
				t.Errorf("again: got %v %q (%v), want 409", r, text, err)
			}
		})
	}
}

func TestOuterHandlers(t *testing.T) {
	app := fiber.New()
	app.Use(func(c fiber.Ctx) error {
		c.Cookie(&fiber.Cookie{Name: "a", Value: "1"})
		c.Append("X-Line", "one")
		c.Set("Content-Type", "application/json")
		err := c.Next()
		c.Cookie(&fiber.Cookie{Name: "c", Value: "3"})
		return err
	})
	app.Use(func(c fiber.Ctx) error {
		err := c.Next()
		_, _ = c.WriteString("+")
		return err
	})
	limit, err := interlockhttp.Limit(interlocktest.New(t).Client(), "orders", 5, interlock.Sliding(time.Hour), interlockfiber.Func(func(fiber.Ctx) (string, error) { return "ann", nil }))
	if err != nil {
		t.Fatal(err)
	}
	app.Post("/orders", interlockfiber.Wrap(orders(t)), interlockfiber.Wrap(limit), func(c fiber.Ctx) error {
		c.Cookie(&fiber.Cookie{Name: "b", Value: "2"})
		return c.Send([]byte(`{"id":1}`))
	})
	url := start(t, app)
	for i := range 2 {
		r, text, err := send(t, "POST", url+"/orders", nil)
		if err != nil || text != `{"id":1}+` || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Line") != "one" {
			t.Errorf("got %q %v (%v)", text, r, err)
		}
		var names []string
		for _, cookie := range r.Cookies() {
			names = append(names, cookie.Name)
		}
		if want := []string{"a b c", "a c"}[i]; strings.Join(names, " ") != want {
			t.Errorf("got the cookies %v, want %s", names, want)
		}
	}
}

func TestMethodOverride(t *testing.T) {
	app := fiber.New()
	app.Use(func(c fiber.Ctx) error { c.Method(c.Get("X-Method", c.Method())); return c.Next() })
	var runs atomic.Int64
	app.Use(interlockfiber.Wrap(orders(t)))
	app.Use(func(c fiber.Ctx) error { return c.SendString(fmt.Sprint(c.Method(), runs.Add(1))) })
	url := start(t, app)
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Method", "POST")
		r.Header.Set("Idempotency-Key", "k1")
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if string(text) != "POST1" {
			t.Errorf("got %q, want a replay", text)
		}
	}
}

// A shadow that gives up on a streamed body leaves it whole.
func TestShadowStream(t *testing.T) {
	app := fiber.New(fiber.Config{StreamRequestBody: true, BodyLimit: 64 << 20})
	shadow := interlockhttp.Shadow(func(interlockhttp.Shadowed) {})
	app.Post("/orders", interlockfiber.Wrap(orders(t, shadow, interlockhttp.MaxBody(1000))), func(c fiber.Ctx) error {
		return c.SendString(fmt.Sprint(len(c.Body()), bytes.Equal(c.Body(), bytes.Repeat([]byte("0123456789"), 30_000))))
	})
	url := start(t, app)
	for range 3 {
		chunked := readerFunc(strings.NewReader(strings.Repeat("0123456789", 30_000)).Read)
		if _, text, err := send(t, "POST", url+"/orders", chunked); err != nil || text != "300000 true" {
			t.Errorf("got %q (%v)", text, err)
		}
	}
}

// The routes of an app with a guard for all of it answer as without the guard.
func TestGlobal(t *testing.T) {
	app := fiber.New()
	app.Use(interlockfiber.Wrap(orders(t)))
	sub := fiber.New(fiber.Config{ErrorHandler: func(c fiber.Ctx, err error) error { return c.Status(418).SendString("sub: " + err.Error()) }})
	sub.Post("/fail", func(fiber.Ctx) error { return errors.New("no") })
	app.Use("/sub", sub)
	app.Get("/orders", func(c fiber.Ctx) error { return c.SendString("list") })
	url := start(t, app)
	for request, want := range map[string]string{
		"GET /orders":    "200 list",
		"GET /nothing":   "404 Not Found",
		"POST /nothing":  "404 Not Found",
		"POST /orders":   "405 Method Not Allowed",
		"POST /sub/fail": "418 sub: no",
	} {
		method, path, _ := strings.Cut(request, " ")
		r, text, err := send(t, method, url+path, nil)
		if err != nil || fmt.Sprint(r.StatusCode, " ", text) != want {
			t.Errorf("%s: got %v %q (%v), want %q", request, r, text, err, want)
		}
	}
}

// After a malformed body, nothing on the connection is taken for another request.
func TestMalformedChunk(t *testing.T) {
	app := fiber.New(fiber.Config{StreamRequestBody: true})
	var hidden atomic.Bool
	app.Get("/hidden", func(fiber.Ctx) error { hidden.Store(true); return nil })
	app.Post("/orders", interlockfiber.Wrap(orders(t)), func(c fiber.Ctx) error { return c.SendString("done") })
	url := start(t, app)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST /orders HTTP/1.1\r\nHost: shop\r\nIdempotency-Key: k1\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"5\r\nhelloXXGET /hidden HTTP/1.1\r\nHost: shop\r\n\r\n")
	text, err := io.ReadAll(conn)
	if err != nil || strings.Count(string(text), "HTTP/1.1 ") != 1 || !strings.HasPrefix(string(text), "HTTP/1.1 400 ") {
		t.Errorf("got %q (%v), want one response", text, err)
	}
	if hidden.Load() {
		t.Error("the body was taken for a request")
	}
}
