package serve

import (
	"context"
	"net/http"
	"time"
)

const (
	// grace is how long requests may take after their connections were closed. Requests
	// that take longer are recorded with an unknown outcome.
	grace = time.Second
	// closeTimeout limits how long the client may take to release its locks.
	closeTimeout = 5 * time.Second
)

// shutdown closes every part, in the reverse order of their dependencies. A part that
// fails to close is logged, and the others are closed all the same. The admin API and the
// health checks answer until nearly the end, so that operators can watch.
func (s *Server) shutdown() {
	cfg := s.gate.Config().Shutdown
	s.stopping.Store(true) // /readyz answers 503 from now on
	s.log.Info("shutting down", "delay", cfg.Delay, "timeout", cfg.Timeout)
	// A second signal ends the process here, so the sleep needs no context.
	time.Sleep(cfg.Delay) // load balancers need time to notice
	s.drain(cfg.Timeout)

	// The gateway settles its records through the client, so it closes first.
	withTimeout(grace, func(ctx context.Context) { s.warn("some requests have an unknown outcome", s.gate.Close(ctx)) })
	withTimeout(closeTimeout, func(ctx context.Context) {
		s.warn("some locks were not released; they expire", s.client.Close(ctx))
	})
	s.removeToken()
	s.warn("closing the audit log failed", s.api.Close())
	for _, l := range s.others {
		_ = l.server.Close() // event streams have sent their last event
	}
	s.collector.Close() // it probes the engine
	// Last: the client above releases its locks through the engine.
	s.warn("closing the engine failed", s.engine.close())
	s.log.Info("stopped")
}

// drain accepts no more connections and waits until all requests are answered. After
// the timeout the remaining connections are closed, and their guards record the outcome
// as unknown.
func (s *Server) drain(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := s.front.shutdown(ctx)
	if err == nil {
		// Shutdown does not wait for upgraded connections; the gateway does.
		err = s.gate.Close(ctx)
	}
	if err != nil {
		s.log.Warn("some requests were not answered in time; their connections are closed", "timeout", timeout, "err", err)
		s.front.close() // cancels the contexts of the remaining requests
	}
}

// withTimeout bounds one step. The steps do not share a deadline, so a slow one does not
// starve the next.
func withTimeout(d time.Duration, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	do(ctx)
}

// warn logs an error of a step that must not stop the others; nil is no error.
func (s *Server) warn(what string, err error) {
	if err != nil {
		s.log.Warn(what, "err", err)
	}
}

// closeAll undoes a failed [Open]. Any part may be nil.
func (s *Server) closeAll() {
	s.removeToken()
	for _, l := range append([]*listener{s.front}, s.others...) {
		if l != nil {
			_ = l.Close() // no server runs yet, so closing the socket is enough
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.api != nil {
		_ = s.api.Close()
	}
	if s.gate != nil {
		_ = s.gate.Close(ctx)
	}
	if s.collector != nil {
		s.collector.Close()
	}
	if s.client != nil {
		_ = s.client.Close(ctx)
	}
	if s.engine != nil {
		_ = s.engine.close()
	}
}

// closeKeepAlives sends Connection: close during a shutdown. Without it, a client could
// send its next request on a connection that is about to be closed.
func (s *Server) closeKeepAlives(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.stopping.Load() && r.ProtoMajor == 1 { // HTTP/2 sends GOAWAY
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
