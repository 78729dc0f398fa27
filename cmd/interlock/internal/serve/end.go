package serve

import (
	"context"
	"net/http"
	"time"
)

const (
	// grace is how long those may still take who were cut off, until what became of
	// their requests is written down as unknown.
	grace = time.Second
	// settling is how long it may take to give back what is held.
	settling = 5 * time.Second
)

// end ends everything, in the order in which the parts need each other. What cannot
// be done is said, and does not keep the rest from being done.
func (s *Server) end() {
	cfg := s.gate.Config().Shutdown
	s.ending.Store(true) // from now on /readyz says no
	s.log.Info("ending: not ready any more", "delay", cfg.Delay, "timeout", cfg.Timeout)
	time.Sleep(cfg.Delay) // whoever sends requests here has to hear of it first
	s.drain(cfg.Timeout)

	within(grace, func(ctx context.Context) { s.complain("some requests have an unknown outcome", s.gate.Close(ctx)) })
	within(settling, func(ctx context.Context) {
		s.complain("not all locks were given back; they run out", s.client.Close(ctx))
	})
	s.complain("the audit trail was not closed well", s.api.Close())
	for _, d := range s.others {
		_ = d.server.Close() // who looks on is told the last by now
	}
	s.complain("the engine was not closed well", s.engine.close())
	s.log.Info("ended")
}

// drain lets nobody in any more, and waits for those who are in. They have until the
// timeout; who is then still there is cut off, and what became of their requests is
// for the guards to say.
func (s *Server) drain(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := s.front.server.Shutdown(ctx)
	if err == nil {
		// Connections that were upgraded are the gateway's, and not the server's any
		// more.
		err = s.gate.Close(ctx)
	}
	if err != nil {
		s.log.Warn("not everybody was answered in time: the rest is cut off", "timeout", timeout, "err", err)
		_ = s.front.server.Close()
	}
}

func within(d time.Duration, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	do(ctx)
}

func (s *Server) complain(what string, err error) {
	if err != nil {
		s.log.Warn(what, "err", err)
	}
}

// abandon closes what was opened, if something else could not be.
func (s *Server) abandon() {
	for _, d := range append([]*door{s.front}, s.others...) {
		if d != nil {
			_ = d.Close()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), settling)
	defer cancel()
	if s.api != nil {
		_ = s.api.Close()
	}
	if s.gate != nil {
		_ = s.gate.Close(ctx)
	}
	if s.client != nil {
		_ = s.client.Close(ctx)
	}
	if s.engine != nil {
		_ = s.engine.close()
	}
}

// parting says goodbye to clients while it ends: who is answered with Connection: close
// does not send the next request on a connection that is about to be closed.
func (s *Server) parting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.ending.Load() && r.ProtoMajor == 1 { // HTTP/2 has a message for it
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
