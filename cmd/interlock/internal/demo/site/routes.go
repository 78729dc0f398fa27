package site

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/cases"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/page"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/snippets"
	"github.com/interlock-go/interlock/gateway/metrics"
)

// routes returns the handler of the public port: the page and its files, the admin API,
// the metrics, and the gateway for all other paths.
func (s *Site) routes() http.Handler {
	mux := http.NewServeMux()
	html := page.Handler()
	mux.Handle("GET /{$}", html)
	mux.Handle("GET /ratelimit/duplicate-submit-test", html)
	mux.Handle("GET /demo/assets/", html)
	mux.HandleFunc("GET /favicon.ico", http.NotFound) // otherwise the gateway would forward it to the shop
	mux.HandleFunc("GET /demo/cases", s.cases)
	// Pages of other origins must not start runs.
	mux.Handle("POST /demo/run", http.NewCrossOriginProtection().Handler(s.player.Handler()))
	for _, path := range []string{"/api/", "/openapi.json", "/livez", "/readyz", "/healthz"} {
		mux.Handle(path, s.api)
	}
	// GET patterns serve HEAD, too. Other methods go to the shop, as any unknown path does.
	mux.Handle("GET /metrics", s.metrics.Handler(metrics.New(s.gate, nil)))
	mux.Handle("/", s.gate)
	return loopbackHost(mux)
}

// loopbackHost refuses requests whose Host is not a loopback name. Otherwise a page of
// another origin could point its own name here (DNS rebinding) and read everything.
func loopbackHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if host != "localhost" && !strings.HasSuffix(host, ".localhost") && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "the demo only serves loopback names such as 127.0.0.1 and localhost", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// A caseJSON describes a case to the page.
type caseJSON struct {
	ID       string          `json:"id"`
	Group    cases.Group     `json:"group"`
	Requests int             `json:"requests"` // their number
	Title    cases.Bilingual `json:"title"`
	About    cases.Bilingual `json:"about"`
	Go       string          `json:"go"`
	Rule     string          `json:"rule"`
	Curl     [2]string       `json:"curl"` // direct, and behind Interlock
}

// cases lists all cases. The texts are in both languages, so that the page switches
// without a request.
func (s *Site) cases(w http.ResponseWriter, _ *http.Request) {
	var all []caseJSON
	for _, c := range cases.Cases() {
		code, err := snippets.Of(c.Snippet)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		all = append(all, caseJSON{
			ID: c.ID, Group: c.Group, Requests: c.Requests(), Title: cases.Say(c.Title), About: cases.Say(c.About),
			Go: code, Rule: excerpt(s.Config, c.Rules...), Curl: [2]string{c.Curl(s.Shop), c.Curl(s.URL)},
		})
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]any{"cases": all, "config": s.Config, "shop": s.Shop, "guarded": s.URL})
}
