package torture

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// TestRouters uses the middleware in common routers without an adapter.
func TestRouters(t *testing.T) {
	user := interlockhttp.User(func(*http.Request) string { return "ann" })
	for name, build := range map[string]func(wrap func(http.Handler) http.Handler, h http.Handler) http.Handler{
		"a route of http.ServeMux": func(wrap func(http.Handler) http.Handler, h http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("POST /orders/{id}", wrap(h))
			return mux
		},
		"around http.ServeMux": func(wrap func(http.Handler) http.Handler, h http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("POST /orders/{id}", h)
			return wrap(mux)
		},
		"chi": func(wrap func(http.Handler) http.Handler, h http.Handler) http.Handler {
			r := chi.NewRouter()
			r.Use(wrap)
			r.Method(http.MethodPost, "/orders/{id}", h)
			return r
		},
		"a route of chi": func(wrap func(http.Handler) http.Handler, h http.Handler) http.Handler {
			r := chi.NewRouter()
			r.With(wrap).Method(http.MethodPost, "/orders/{id}", h)
			return r
		},
		"an alice chain": func(wrap func(http.Handler) http.Handler, h http.Handler) http.Handler {
			type constructor func(http.Handler) http.Handler // alice's
			for _, c := range []constructor{wrap} {
				h = c(h)
			}
			return h
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := interlock.New(nil)
			m, err := interlockhttp.Once(client, guard.Policy{Name: "orders"}, user)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close(t.Context())
			runs := 0
			h := build(m.Wrap, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				runs++
				fmt.Fprintf(w, "order %d at %s", runs, r.URL.Path)
			}))
			for range 2 {
				r := httptest.NewRequest(http.MethodPost, "/orders/7", strings.NewReader("shoes"))
				r.Header.Set("Idempotency-Key", "k-1")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != http.StatusOK || w.Body.String() != "order 1 at /orders/7" {
					t.Errorf("got %d %s, want 200 and the first order", w.Code, w.Body)
				}
			}
			r := httptest.NewRequest(http.MethodPost, "/orders/8", strings.NewReader("shoes"))
			r.Header.Set("Idempotency-Key", "k-1")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusUnprocessableEntity || runs != 1 {
				t.Errorf("another path with the same key: got %d and %d runs, want 422 and 1", w.Code, runs)
			}
		})
	}
}
