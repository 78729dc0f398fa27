package serve

import (
	"net/http"
	"time"

	"github.com/interlock-go/interlock/gateway/metrics"
	"github.com/interlock-go/interlock/observe/prom"
)

// metricsListener names the listener that serves only /metrics.
const metricsListener = "metrics"

// newMetrics returns the handler of /metrics. A scrape waits for no server, so that it is
// quick while the engine is down.
func (s *Server) newMetrics() http.Handler {
	s.collector = prom.New(s.client)
	return s.collector.Handler(metrics.New(s.gate, func() (time.Time, bool) {
		if last := s.reloads.last(); last != nil {
			return last.Time, last.OK
		}
		return time.Time{}, true
	}))
}

// onlyMetrics serves /metrics and nothing else.
func onlyMetrics(h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h)
	return mux
}
