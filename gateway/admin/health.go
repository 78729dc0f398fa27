package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/doctor"
	"github.com/interlock-go/interlock/engine"
)

// Health is how everything is.
type Health struct {
	Ready   bool           `json:"ready" doc:"As /readyz says."`
	Checks  []Check        `json:"checks"`
	Uptime  int64          `json:"uptime_s"`
	Doctor  map[string]any `json:"doctor,omitempty" doc:"What interlock doctor says of the engine: its nodes, what is promised, and what had better be changed."`
	Notices []string       `json:"notices" doc:"What an operator should know of the engine, as that it has degraded."`
}

// A Check is one thing that has to be right.
type Check struct {
	Name  string `json:"name" enum:"engine,config,serving,audit"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func (s *Server) healthRoutes() {
	route(s, "get-health", "GET /health", "Ask how the engine and this process are",
		"The engine is asked, and judged as interlock doctor does. In English, or Chinese if Accept-Language asks for it.", s.getHealth)
	route(s, "get-stats", "GET /stats", "Count what has happened in this process", "Since it started.", s.getStats)
}

func (s *Server) getHealth(ctx context.Context, in *struct {
	Language string `header:"Accept-Language" maxLength:"200"`
}) (*body[Health], error) {
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
	if err := json.Unmarshal(text, &out.Doctor); err != nil {
		return nil, err
	}
	out.Notices = append(out.Notices, h.Notices...)
	return answer(out), nil
}

// A checkup asks an engine how it is, and not more often than once in a second: who
// asks for readiness needs no token.
type healthCache struct {
	mu   sync.Mutex
	at   time.Time
	last engine.Health
	err  error
}

const (
	probeTime  = 2 * time.Second
	probeEvery = time.Second
)

func (c *healthCache) probe(ctx context.Context, e engine.Engine) (engine.Health, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < probeEvery {
		return c.last, c.err
	}
	prober := e.Capabilities().Prober
	if prober == nil {
		return engine.Health{}, nil // it cannot be asked; then nothing is known against it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime) // others get the answer, too
	defer cancel()
	c.last, c.err = prober.Probe(ctx)
	if c.err == nil && !doctor.Examine(c.last).Reached() {
		c.err = fmt.Errorf("%w: no node of it answers", engine.ErrUnavailable)
	}
	c.at = time.Now()
	return c.last, c.err
}

// checks looks at everything that has to be right.
func (s *Server) checks(ctx context.Context) []Check {
	_, err := s.health.probe(ctx, s.o.Engine)
	if s.o.Degrades != nil && s.o.Degrades() {
		err = nil // its users get along without it
	}
	checks := []Check{check("engine", err)}
	if s.o.Rules != nil {
		var err error
		if s.o.Rules() == nil {
			err = fmt.Errorf("it has not been loaded")
		}
		checks = append(checks, check("config", err))
	}
	if s.o.Ready != nil {
		checks = append(checks, check("serving", s.o.Ready()))
	}
	return append(checks, check("audit", s.audit.err()))
}

func check(name string, err error) Check { return Check{Name: name, OK: err == nil, Error: text(err)} }

func allOK(checks []Check) bool {
	for _, c := range checks {
		if !c.OK {
			return false
		}
	}
	return true
}

// probe returns what answers a probe of health, if the request is one: those are for
// machines, which have no token, and call by whatever name they know.
func (s *Server) probe(r *http.Request) (http.HandlerFunc, bool) {
	path, ours := strings.CutPrefix(r.URL.Path, s.o.Prefix)
	if !ours || r.Method != http.MethodGet && r.Method != http.MethodHead {
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

// HealthHandler answers the probes of health, and nothing else: for a listener that
// others may reach.
func (s *Server) HealthHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		if check, ok := s.probe(r); ok {
			check(w, r)
			return
		}
		problem(NotFound, "here are /livez, /readyz and /healthz, to be read").write(w)
	})
}

// remark is what an operator should know although all is well.
func (s *Server) reloadNotice() string {
	if last := s.reloaded(); last != nil && !last.OK {
		return "the last reload failed at " + last.Time.Format(time.RFC3339) + ", and what was there before stays: see the log, or /api/v1/rules"
	}
	return ""
}

// pulse answers a probe: in a word, in lines if it asks for them, or in JSON. Why
// something is wrong it does not say: that may tell of addresses.
func writeProbe(w http.ResponseWriter, r *http.Request, checks []Check, remark string) {
	word, status := "ok", http.StatusOK
	if !allOK(checks) {
		word, status = "failed", http.StatusServiceUnavailable
	}
	h := w.Header()
	if strings.Contains(r.Header.Get("Accept"), "json") {
		h.Set("Content-Type", "application/json")
		w.WriteHeader(status)
		sheet := make(map[string]bool)
		for _, c := range checks {
			sheet[c.Name] = c.OK
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": word, "checks": sheet})
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
		if remark != "" {
			_, _ = fmt.Fprintf(w, "[!] %s\n", remark)
		}
	}
	_, _ = fmt.Fprintln(w, word)
}
