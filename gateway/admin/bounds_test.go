package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
)

// A refused client cannot fill the log with a long method.
func TestALongMethodIsCut(t *testing.T) {
	w := open(t, func(o *admin.Options) {
		o.Config.Tokens = []config.AdminToken{{Name: "ann", Role: config.View, SHA256: strings.Repeat("ab", 32)}}
	})
	r := httptest.NewRequest(strings.Repeat("M", 10_000), "http://localhost/api/v1/locks", http.NoBody)
	got := httptest.NewRecorder()
	w.api.ServeHTTP(got, r)
	if got.Code != http.StatusUnauthorized {
		t.Fatalf("the status is %d, want 401", got.Code)
	}
	if n := w.log.Len(); n > 2_000 || !strings.Contains(w.log.String(), "MMM") {
		t.Errorf("the log has %d bytes, want at most 2,000 with the start of the method", n)
	}
}

// An open API authenticates clients by their address. The address of a forwarded request is
// the proxy's, so such a request is refused.
func TestALocalProxyIsNotAuthenticated(t *testing.T) {
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"} {
		w := open(t)
		w.header.Set(name, "203.0.113.9")
		w.get("/api/v1/locks").problem(http.StatusUnauthorized, admin.Unauthenticated)
		w.post("/api/v1/locks/release-all", map[string]any{"pattern": "*", "confirm": 0, "reason": "it is"}).problem(http.StatusUnauthorized, admin.Unauthenticated)
	}
	w := open(t, func(o *admin.Options) { o.Config.Insecure = true })
	w.header.Set("Via", "1.1 proxy")
	if r := w.get("/api/v1/locks"); !strings.Contains(string(r.text), "locks") {
		t.Errorf("with Insecure, a forwarded request gets %s, want the locks", r.text)
	}
}

// The response of a resolution must have a final status, not 1xx.
func TestAResolutionHasAFinalStatus(t *testing.T) {
	w := open(t)
	id := abandonClaim(t, w.orders(), "a")
	for _, status := range []int{100, 103, 199} {
		w.post(pathOf("claims", id)+"/resolve", map[string]any{
			"outcome": "done", "reason": "it is", "response": map[string]any{"status": status},
		}).problem(http.StatusUnprocessableEntity, admin.Invalid)
		if _, err := (admin.Resolution{Outcome: "done", Response: &admin.Response{Status: status}}).Stored(); err == nil {
			t.Errorf("the status %d is accepted", status)
		}
	}
}

// Rules do not contain passwords, however the URL is written.
func TestRulesContainNoPasswords(t *testing.T) {
	for _, url := range []string{
		"redis://me:hunter2@a", "redis+sentinel://a,b/main?sentinel_password=hunter2", "redis://a?sentinel_password=hunter2;x",
		"redis://a?sentinel_password=%zzhunter2", "redis:hunter2@a", "redis://a/0#hunter2", "redis://me:hun%zzhunter2@a",
	} {
		w := open(t, func(o *admin.Options) {
			o.Rules = func() *config.Config { return &config.Config{Engine: config.Engine{URL: url}} }
		})
		if r := w.get("/api/v1/rules"); strings.Contains(string(r.text), "hunter2") || !strings.Contains(string(r.text), "engine") {
			t.Errorf("the rules with the engine %s are %s, want the engine without its password", url, r.text)
		}
	}
}
