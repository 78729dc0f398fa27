package interlockgin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
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
