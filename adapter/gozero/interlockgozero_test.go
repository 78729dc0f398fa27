package interlockgozero_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/rest"

	"github.com/interlock-go/interlock/adapter/gozero"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
)

// A request that go-zero's timeout has answered runs to its end, and a repeat gets its response.
func TestTimeout(t *testing.T) {
	user := interlockhttp.User(func(*http.Request) string { return "ann" })
	orders, err := interlockhttp.Once(interlocktest.New(t).Client(), guard.Charge("orders"), user)
	if err != nil {
		t.Fatal(err)
	}
	var config rest.RestConf
	if err := conf.FillDefault(&config); err != nil {
		t.Fatal(err)
	}
	config.Timeout = 50 // milliseconds
	server, err := rest.NewServer(config)
	if err != nil {
		t.Fatal(err)
	}
	open := make(chan struct{})
	handler := func(w http.ResponseWriter, r *http.Request) {
		<-open
		if err := r.Context().Err(); err != nil {
			t.Errorf("the handler's context: %v", err)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "order 1")
	}
	server.AddRoutes(interlockgozero.WithMiddleware(orders.Wrap, rest.Route{Method: http.MethodPost, Path: "/orders", Handler: handler}))
	serverless, err := rest.NewServerless(server)
	if err != nil {
		t.Fatal(err)
	}
	local := httptest.NewServer(http.HandlerFunc(serverless.Serve))
	t.Cleanup(local.Close)
	send := func() (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, local.URL+"/orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "k1")
		response, err := local.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	if status, text := send(); status < 500 { // that of TestMain's error handler
		t.Errorf("first: got %d %q", status, text)
	}
	close(open)
	for {
		status, text := send()
		if strings.Contains(text, string(interlockhttp.InProgress)) || status >= 500 {
			continue
		}
		if status != http.StatusCreated || text != "order 1" {
			t.Errorf("again: got %d %q, want the response", status, text)
		}
		return
	}
}
