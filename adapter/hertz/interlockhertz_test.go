package interlockhertz_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/config"
	"github.com/cloudwego/hertz/pkg/network/standard"
	"github.com/cloudwego/hertz/pkg/protocol"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/hertz"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
)

// orders returns a guard for the user ann.
func orders(t *testing.T, opts ...interlockhttp.Option) app.HandlerFunc {
	t.Helper()
	opts = append(opts, interlockhertz.User(func(context.Context, *app.RequestContext) string { return "ann" }))
	m, err := interlockhttp.Once(interlocktest.New(t).Client(), guard.Charge("orders"), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return interlockhertz.Wrap(m.Wrap)
}

// start serves what routes adds.
func start(t *testing.T, routes func(h *server.Hertz), opts ...config.Option) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	h := server.New(append(opts, server.WithListener(listener), server.WithHostPorts(address), server.WithExitWaitTime(10*time.Millisecond), server.WithDisablePrintRoute(true), server.WithHandleMethodNotAllowed(true))...)
	routes(h)
	ended := make(chan error, 1)
	go func() { ended <- h.Run() }()
	for !h.IsRunning() { // Hertz says it in no other way
		time.Sleep(time.Millisecond)
	}
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = h.Shutdown(ctx) // it fails if a client keeps a connection
		<-ended
	})
	return "http://" + address
}

// send sends a request with the key k1.
func send(t *testing.T, method, url string) (response *http.Response, text string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
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

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A response body that breaks off is not kept.
func TestBrokenBody(t *testing.T) {
	url := start(t, func(h *server.Hertz) {
		h.POST("/orders", orders(t), func(_ context.Context, c *app.RequestContext) {
			failing := readerFunc(func([]byte) (int, error) { return 0, errors.New("the disk failed") })
			c.SetBodyStream(io.MultiReader(strings.NewReader("half"), failing), 8)
		})
	})
	if r, text, err := send(t, "POST", url+"/orders"); err == nil {
		t.Errorf("first: got %d %q, want a broken response", r.StatusCode, text)
	}
	r, text, err := send(t, "POST", url+"/orders")
	if err != nil || r.StatusCode != http.StatusConflict {
		t.Errorf("again: got %v %q (%v), want 409", r, text, err)
	}
}

// The fields, cookies and bytes that outer handlers add are in each response.
func TestOuterHandlers(t *testing.T) {
	limit, err := interlockhttp.Limit(interlocktest.New(t).Client(), "orders", 5, interlock.Sliding(time.Hour),
		interlockhertz.Func(func(context.Context, *app.RequestContext) (string, error) { return "ann", nil }))
	if err != nil {
		t.Fatal(err)
	}
	cookie := func(c *app.RequestContext, name string) {
		c.SetCookie(name, "1", 0, "/", "", protocol.CookieSameSiteDefaultMode, false, false)
	}
	url := start(t, func(h *server.Hertz) {
		h.Use(func(ctx context.Context, c *app.RequestContext) {
			cookie(c, "a")
			c.Header("X-Line", "one")
			c.SetContentType("application/json")
			c.Next(ctx)
			cookie(c, "c")
			_, _ = c.WriteString("+")
		})
		h.POST("/orders", orders(t), interlockhertz.Wrap(limit), func(_ context.Context, c *app.RequestContext) {
			cookie(c, "b")
			_, _ = c.WriteString("{}")
		})
	})
	for i := range 2 {
		r, text, err := send(t, "POST", url+"/orders")
		if err != nil || text != "{}+" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Line") != "one" {
			t.Errorf("got %q %v (%v)", text, r, err)
			continue
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

// Hertz sends text/plain if a handler sets no type. A guard does not detect another one.
func TestDefaultType(t *testing.T) {
	url := start(t, func(h *server.Hertz) {
		h.POST("/orders", orders(t), func(_ context.Context, c *app.RequestContext) { _, _ = c.WriteString("<script>") })
	})
	for range 2 {
		r, text, err := send(t, "POST", url+"/orders")
		if err != nil || text != "<script>" || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("got %q %v (%v)", text, r, err)
		}
	}
}

// Requests that no route matches get Hertz's response, with a guard for the whole server.
func TestGlobal(t *testing.T) {
	url := start(t, func(h *server.Hertz) {
		h.Use(orders(t))
		h.GET("/orders", func(_ context.Context, c *app.RequestContext) { c.String(http.StatusOK, "list") })
	})
	for request, want := range map[string]string{
		"GET /orders":   "200 list",
		"GET /nothing":  "404 Not Found",
		"POST /nothing": "404 Not Found",
		"PUT /orders":   "405 Method Not Allowed",
	} {
		method, path, _ := strings.Cut(request, " ")
		r, text, err := send(t, method, url+path)
		if err != nil || fmt.Sprint(r.StatusCode, " ", text) != want {
			t.Errorf("%s: got %v %q (%v), want %q", request, r, text, err, want)
		}
	}
}

// A shadow that gives up on a streamed body leaves it whole, and the next request after it.
func TestShadowStream(t *testing.T) {
	body := strings.Repeat("0123456789", 3_000)
	shadow := interlockhttp.Shadow(func(interlockhttp.Shadowed) {})
	url := start(t, func(h *server.Hertz) {
		guarded := orders(t, shadow, interlockhttp.MaxBody(1000))
		h.POST("/read", guarded, func(_ context.Context, c *app.RequestContext) {
			c.String(http.StatusOK, "%v", string(c.Request.Body()) == body)
		})
		h.POST("/ignore", guarded, func(_ context.Context, c *app.RequestContext) { c.String(http.StatusOK, "ignored") })
	}, server.WithStreamBody(true), server.WithTransport(standard.NewTransporter))
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	replies := bufio.NewReader(conn)
	for _, step := range []struct{ path, want string }{{"/ignore", "ignored"}, {"/read", "true"}, {"/ignore", "ignored"}, {"/read", "true"}} {
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: shop\r\nIdempotency-Key: k1\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", step.path, len(body), body)
		r, err := http.ReadResponse(replies, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		if err != nil || string(text) != step.want {
			t.Errorf("%s: got %d %q (%v)", step.path, r.StatusCode, text, err)
		}
	}
}
