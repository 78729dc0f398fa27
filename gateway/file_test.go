package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A configuration file is all that a gateway needs to protect a service: the service does
// not change (requirement P8), and clients send Idempotent-Token (requirement P1).
func TestAGatewayFromAFile(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL.Path, " ", r.Header.Get("Interlock-Fence") != "")
	}))
	t.Cleanup(service.Close)
	cfg, errs := config.Parse("interlock.yaml", fmt.Appendf(nil, `
to: %s
engine: memory
namespace: shop
trusted-proxies: [127.0.0.0/8]
principal:
  header: X-User
tokens: {}
rules:
  - match: POST /orders/{id}/pay
    lock: pay:{path.id}
    kind: fair
    wait: 3s
  - match: POST /orders
    once: order:{header.Idempotency-Key}
    retain: 24h
  - match: POST /sign-up
    once: sign-up:{token}
  - match: POST /click
    submit: click:{body.button}
    window: 1m
    message: {en: slow down, zh: 慢一点}
  - match: PUT /import
    lock: import
    principal: none
    wait: 0s
`, service.URL))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	s := open(t, cfg, nil)
	for _, c := range []struct {
		method, path, body string
		changes            []edit
		status             int
		code               interlockhttp.Code
		key                string
	}{
		{"POST", "/orders/7/pay", "", nil, 200, "", "pay:7"},
		{"POST", "/orders", "x", []edit{key("k-1")}, 200, "", recordID(t, "order", "k-1")},
		{"POST", "/orders", "x", []edit{key("k-1")}, 200, "", recordID(t, "order", "k-1")},
		{"POST", "/orders", "y", []edit{key("k-1")}, 422, interlockhttp.KeyReused, recordID(t, "order", "k-1")},
		{"POST", "/sign-up", "x", nil, 400, interlockhttp.KeyMissing, ""},
		{"POST", "/sign-up", "x", []edit{field("Idempotent-Token", "made-up")}, 403, interlockhttp.TokenUnknown, ""},
		{"POST", "/click", `{"button":"buy"}`, []edit{field("Content-Type", "application/json")}, 200, "", recordID(t, "click", "buy")},
		{"POST", "/click", "button=buy", []edit{field("Content-Type", "application/x-www-form-urlencoded")}, 429, interlockhttp.Duplicate, recordID(t, "click", "buy")},
		{"PUT", "/import", "x", []edit{func(r *http.Request) { r.Header.Del("X-User") }}, 200, "", "import"},
	} {
		got := s.send(c.method, c.path, c.body, c.changes...)
		if got.StatusCode != c.status || got.code() != c.code || c.status == 200 && got.text != c.path+" true" {
			t.Errorf("%s %s gets %v, want %d %s", c.method, c.path, got, c.status, c.code)
		}
		if e := s.event(); e.Key != c.key {
			t.Errorf("%s %s: the event is %+v, want the key %q", c.method, c.path, e, c.key)
		}
	}
	var v struct{ Token string }
	if got := s.send("GET", "/idempotent-token?form=sign-up", ""); json.Unmarshal([]byte(got.text), &v) != nil {
		t.Fatalf("the token endpoint answers %v, want a token", got)
	}
	if got := s.send("POST", "/sign-up", "x", field("Idempotent-Token", v.Token)); got.text != "/sign-up true" {
		t.Errorf("a request with a token gets %v, want 200", got)
	}
}
