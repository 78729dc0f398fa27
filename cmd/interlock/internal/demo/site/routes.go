package site

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/cases"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/page"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/snippets"
)

// routes says what is where on the one port: the page, what it needs, the admin
// API, and everywhere else the shop behind Interlock.
func (s *Site) routes() http.Handler {
	mux := http.NewServeMux()
	look := page.Handler()
	mux.Handle("GET /{$}", look)
	mux.Handle("GET /ratelimit/duplicate-submit-test", look) // S6
	mux.Handle("GET /demo/assets/", look)
	mux.HandleFunc("GET /favicon.ico", http.NotFound)
	mux.HandleFunc("GET /demo/cases", s.cases)
	// A page elsewhere must not start anything here.
	mux.Handle("POST /demo/run", http.NewCrossOriginProtection().Handler(s.player.Handler()))
	for _, path := range []string{"/api/", "/openapi.json", "/livez", "/readyz", "/healthz"} {
		mux.Handle(path, s.api)
	}
	mux.Handle("/", s.gate)
	return byName(mux)
}

// byName serves only who calls it by a name of this machine: a page elsewhere could
// otherwise have its own name point here, and read everything.
func byName(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if host != "localhost" && !strings.HasSuffix(host, ".localhost") && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "the demo answers to loopback names only, such as 127.0.0.1 and localhost", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// A listed case is what the page knows of one.
type listed struct {
	ID    string      `json:"id"`
	Group cases.Group `json:"group"`
	Shots int         `json:"shots"` // how many requests it is
	Title cases.Both  `json:"title"`
	About cases.Both  `json:"about"`
	Go    string      `json:"go"`
	Rule  string      `json:"rule"`
	Curl  [2]string   `json:"curl"` // directly, and behind Interlock
}

// cases lists everything there is to try.
func (s *Site) cases(w http.ResponseWriter, _ *http.Request) {
	var all []listed
	for _, c := range cases.Cases() {
		code, err := snippets.Of(c.Lines)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		all = append(all, listed{
			ID: c.ID, Group: c.Group, Shots: c.Shots(), Title: cases.Say(c.Title), About: cases.Say(c.About),
			Go: code, Rule: excerpt(s.Config, c.Rules...), Curl: [2]string{c.Curl(s.Shop), c.Curl(s.URL)},
		})
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]any{"cases": all, "config": s.Config, "shop": s.Shop, "guarded": s.URL})
}
