package interlockgin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/interlock-go/interlock/adapter/gin"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
)

// Requests that no route matches get gin's response, with a guard for the whole router.
func TestGlobal(t *testing.T) {
	client := interlocktest.New(t).Client()
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockgin.User(func(*gin.Context) string { return "ann" }))
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.HandleMethodNotAllowed = true
	bare := gin.New()
	bare.HandleMethodNotAllowed = true
	router.Use(interlockgin.Wrap(orders.Wrap))
	for _, r := range []*gin.Engine{router, bare} {
		r.GET("/orders", func(c *gin.Context) { c.String(http.StatusOK, "list") })
		r.GET("/slash/", func(c *gin.Context) { c.String(http.StatusOK, "list") })
	}
	for _, request := range []string{"GET /orders", "GET /nothing", "POST /nothing", "POST /orders", "HEAD /nothing", "OPTIONS /orders", "GET /slash", "POST /slash"} {
		method, path, _ := strings.Cut(request, " ")
		var got [2]string
		for i, h := range []http.Handler{bare, router} {
			r := httptest.NewRequest(method, path, nil)
			r.Header.Set("Idempotency-Key", "k1")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			text, _ := io.ReadAll(w.Result().Body)
			got[i] = w.Result().Status + " " + w.Result().Header.Get("Content-Type") + " " + string(text)
		}
		if got[0] != got[1] {
			t.Errorf("%s: got %q, want %q as without the guard", request, got[1], got[0])
		}
	}
}

// A panic leaves gin's context as the outer handlers had it, and cookies of both sides are sent.
func TestOuterHandlers(t *testing.T) {
	client := interlocktest.New(t).Client()
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockgin.User(func(*gin.Context) string { return "ann" }))
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.ContextWithFallback = true
	router.Use(func(c *gin.Context) {
		request, writer := c.Request, c.Writer
		defer func() {
			p := recover()
			if c.Request != request || c.Writer != writer {
				t.Error("the context still has the guard's request or writer")
			}
			if p != nil {
				c.AbortWithStatus(http.StatusInternalServerError)
			}
		}()
		c.SetCookie("outside", "1", 0, "/", "", false, false)
		c.Status(http.StatusAccepted)
		c.Next()
	})
	router.POST("/panic", interlockgin.Wrap(orders.Wrap), func(*gin.Context) { panic("boom") })
	router.POST("/orders", interlockgin.Wrap(orders.Wrap), func(c *gin.Context) {
		c.SetCookie("inside", "1", 0, "/", "", false, false)
		if _, ok := guard.Fence(c); !ok {
			t.Error("with ContextWithFallback, the context is that of the request")
		}
	})
	for _, want := range []string{"202 outside inside", "202 outside"} {
		if got := sent(router, "/orders", "k1"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := sent(router, "/panic", "k2"); got != "500 outside" {
		t.Errorf("got %q", got)
	}
}

// sent sends a request, and returns the status and the cookies of the response.
func sent(h http.Handler, path, key string) string {
	r := httptest.NewRequest(http.MethodPost, path, nil)
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	text := strconv.Itoa(w.Code)
	for _, cookie := range w.Result().Cookies() {
		text += " " + cookie.Name
	}
	return text
}

// A handler of NoRoute runs once, even if its response is empty.
func TestNoRoute(t *testing.T) {
	client := interlocktest.New(t).Client()
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockgin.User(func(*gin.Context) string { return "ann" }))
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	runs := 0
	router.NoRoute(interlockgin.Wrap(orders.Wrap), func(c *gin.Context) { runs++; c.Status(http.StatusNoContent) })
	for range 2 {
		if got := sent(router, "/legacy", "k1"); got != "204" {
			t.Errorf("got %q", got)
		}
	}
	if runs != 1 {
		t.Errorf("the handler ran %d times", runs)
	}
}

// gin gives a request that another route handles its own writer, so the response is not kept.
func TestHandleContext(t *testing.T) {
	client := interlocktest.New(t).Client()
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockgin.User(func(*gin.Context) string { return "ann" }))
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.POST("/orders", func(c *gin.Context) { c.String(http.StatusCreated, "order 1") })
	router.POST("/old", interlockgin.Wrap(orders.Wrap), func(c *gin.Context) {
		c.Request.URL.Path = "/orders"
		router.HandleContext(c)
	})
	for _, want := range []string{"201", "409"} {
		if got := sent(router, "/old", "k1"); got != want {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}
