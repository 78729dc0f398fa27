package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/admin"
)

func TestMetrics(t *testing.T) {
	withMetrics := func(o *admin.Options) {
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprintln(w, "interlock_build_info 1")
		})
	}
	t.Run("the role view is enough, and without a token the metrics are refused", func(t *testing.T) {
		w := open(t, withTokens, withMetrics)
		w.get("/metrics").problem(401, admin.Unauthenticated)
		w.as("wrong").get("/metrics").problem(401, admin.Unauthenticated)
		for _, token := range []string{viewer, operator} {
			r := w.as(token).get("/metrics")
			if r.status != 200 || !strings.Contains(string(r.text), "interlock_build_info") || r.header.Get("Cache-Control") != "no-store" {
				t.Errorf("the response is %d %q with %v, want the metrics", r.status, r.text, r.header)
			}
		}
	})
	t.Run("HEAD answers without a body, and other methods are refused", func(t *testing.T) {
		w := open(t, withTokens, withMetrics).as(operator)
		if r := w.call("HEAD", "/metrics", nil); r.status != 200 || len(r.text) != 0 {
			t.Errorf("HEAD: the response is %d %q, want 200 without a body", r.status, r.text)
		}
		w.post("/metrics", nil).problem(405, admin.MethodNotAllowed)
		w.get("/metrics/").problem(404, admin.NotFound)
		w.get("/metrics/x").problem(404, admin.NotFound)
	})
	t.Run("a prefix applies", func(t *testing.T) {
		w := open(t, withMetrics, func(o *admin.Options) { o.Prefix = "/admin" })
		if r := w.get("/admin/metrics"); r.status != 200 {
			t.Errorf("the response is %d %s, want 200", r.status, r.text)
		}
		w.get("/metrics").problem(404, admin.NotFound)
	})
	t.Run("a process without metrics has no such path", func(t *testing.T) {
		open(t).get("/metrics").problem(404, admin.NotFound)
	})
}
