package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/doctor"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/standby"
)

// Health is the state of the process and its engine.
type Health struct {
	Ready   bool           `json:"ready" doc:"As in /readyz."`
	Checks  []Check        `json:"checks"`
	Uptime  int64          `json:"uptime_s"`
	Doctor  map[string]any `json:"doctor,omitempty" doc:"The report of interlock doctor on the engine: its nodes, its guarantees, and recommended changes."`
	Notices []string       `json:"notices" doc:"Notices of the engine, such as that it has degraded."`
}

// A Check is one condition of readiness.
type Check struct {
	Name  string `json:"name" enum:"engine,config,serving,audit"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// healthRoutes registers the detailed reports, which need a role. The probes of load
// balancers are in probe, outside of the OpenAPI document.
func (s *Server) healthRoutes() {
	route(s, "get-health", "GET /health", "Get the health of the engine and this process",
		"Probes the engine, and examines it as interlock doctor does. The report is in English, or in Chinese if Accept-Language prefers it.", s.getHealth)
	route(s, "get-stats", "GET /stats", "Get the counters of this process", "They start at zero with the process.", s.getStats)
	route(s, "get-top", "GET /top", "Get the longest holds and the most contended keys",
		"The engine knows the locks that are held now. The other lists are those of this process: they start empty with it.", s.getTop)
}

// getHealth answers 200 even if the engine is down: the report is what the client wants.
func (s *Server) getHealth(ctx context.Context, in *struct {
	Language string `header:"Accept-Language" maxLength:"200"`
}) (*body[Health], error) {
	// Both calls share one probe, by way of the cache.
	checks := s.checks(ctx)
	h, err := s.health.probe(ctx, s.o.Engine)
	out := Health{Ready: allOK(checks), Checks: checks, Uptime: int64(time.Since(s.began) / time.Second), Notices: []string{}}
	if err != nil {
		return answer(out), nil
	}
	language := doctor.English
	if strings.HasPrefix(strings.ToLower(in.Language), "zh") {
		language = doctor.Chinese
	}
	text, err := doctor.Examine(h).JSON(language)
	if err != nil {
		return nil, err
	}
	// The report keeps the JSON of the command, so that both have the same fields.
	if err := json.Unmarshal(text, &out.Doctor); err != nil {
		return nil, err
	}
	out.Notices = append(out.Notices, h.Notices...)
	return answer(out), nil
}

// A healthCache probes an engine at most once a second: readiness needs no token, and must
// not put load on the engine.
type healthCache struct {
	// mu is held during a probe: requests that arrive meanwhile wait for its result.
	mu   sync.Mutex
	at   time.Time
	last engine.Health
	err  error
}

const (
	probeTime  = 2 * time.Second
	probeEvery = time.Second
)

// probe returns the health of an engine, at most probeEvery old.
func (c *healthCache) probe(ctx context.Context, e engine.Engine) (engine.Health, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < probeEvery {
		return c.last, c.err
	}
	prober := e.Capabilities().Prober
	if prober == nil {
		return engine.Health{}, nil // an engine that cannot be probed counts as healthy
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime) // other requests get the same result
	defer cancel()
	c.last, c.err = prober.Probe(ctx)
	// A probe may succeed although no node answers: it reports the error of each node.
	if c.err == nil && !doctor.Examine(c.last).Reached() {
		c.err = fmt.Errorf("%w: none of its nodes answers", engine.ErrUnavailable)
	}
	c.at = time.Now()
	return c.last, c.err
}

// checks returns all conditions of readiness.
func (s *Server) checks(ctx context.Context) []Check {
	_, err := s.health.probe(ctx, s.o.Engine)
	// A standby that was switched grants nothing until earlier leases have expired.
	if e, ok := s.o.Engine.(*standby.Engine); ok && err == nil {
		err = e.State().Closed
	}
	// A gateway that works without the engine stays ready. Otherwise a load balancer would
	// remove all gateways at once, although they can serve.
	if s.o.Degrades != nil && s.o.Degrades() {
		err = nil
	}
	checks := []Check{check("engine", err)}
	if s.o.Rules != nil {
		var err error
		// A program may serve the API before its gateway has a configuration.
		if s.o.Rules() == nil {
			err = errors.New("the configuration is not loaded yet")
		}
		checks = append(checks, check("config", err))
	}
	if s.o.Ready != nil {
		checks = append(checks, check("serving", s.o.Ready()))
	}
	return append(checks, check("audit", s.audit.err()))
}

// check returns a condition with its error. Only getHealth shows the error; probes do
// not.
func check(name string, err error) Check { return Check{Name: name, OK: err == nil, Error: text(err)} }

// allOK reports whether every check succeeded.
func allOK(checks []Check) bool {
	return !slices.ContainsFunc(checks, func(c Check) bool { return !c.OK })
}

// probe returns the handler of a health check, if the request is one. Health checks need
// no token, and accept any Host field: load balancers send neither.
func (s *Server) probe(r *http.Request) (http.HandlerFunc, bool) {
	// Only GET and HEAD are probes. Any other method has to pass admit first.
	path, found := strings.CutPrefix(r.URL.Path, s.o.Prefix)
	if !found || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil, false
	}
	switch path {
	case "/livez":
		return func(w http.ResponseWriter, r *http.Request) { writeProbe(w, r, nil, "") }, true
	case "/readyz", "/healthz":
		return func(w http.ResponseWriter, r *http.Request) {
			writeProbe(w, r, s.checks(r.Context()), s.reloadNotice())
		}, true
	}
	return nil, false
}

// HealthHandler serves only health checks, so it can be exposed.
func (s *Server) HealthHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		if check, ok := s.probe(r); ok {
			check(w, r)
			return
		}
		problem(NotFound, "this listener serves GET /livez, /readyz and /healthz only").write(w)
	})
}

// reloadNotice returns a notice if the last reload failed. Such a process is still ready.
func (s *Server) reloadNotice() string {
	if last := s.reloaded(); last != nil && !last.OK {
		return "the last reload failed at " + last.Time.Format(time.RFC3339) + "; the previous configuration stays in use; see the log, or /api/v1/rules"
	}
	return ""
}

// writeProbe answers a health check in one word, in lines with ?verbose, or in JSON. It
// does not give reasons, because they may contain addresses.
func writeProbe(w http.ResponseWriter, r *http.Request, checks []Check, notice string) {
	word, status := "ok", http.StatusOK
	// 503 is what load balancers expect of an instance that should get no requests.
	if !allOK(checks) {
		word, status = "failed", http.StatusServiceUnavailable
	}
	h := w.Header()
	if strings.Contains(r.Header.Get("Accept"), "json") {
		h.Set("Content-Type", "application/json")
		w.WriteHeader(status)
		results := make(map[string]bool)
		for _, c := range checks {
			results[c.Name] = c.OK
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": word, "checks": results})
		return
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	if _, verbose := r.URL.Query()["verbose"]; verbose {
		for _, c := range checks {
			sign := "+"
			if !c.OK {
				sign = "-"
			}
			_, _ = fmt.Fprintf(w, "[%s] %s\n", sign, c.Name)
		}
		if notice != "" {
			_, _ = fmt.Fprintf(w, "[!] %s\n", notice)
		}
	}
	_, _ = fmt.Fprintln(w, word)
}
