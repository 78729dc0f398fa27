package admin

// Addresses returns the number of addresses that have limits.
func (s *Server) Addresses() int {
	s.auth.limits.mu.Lock()
	defer s.auth.limits.mu.Unlock()
	return len(s.auth.limits.all)
}

// Sessions returns the number of sessions.
func (s *Server) Sessions() int {
	s.auth.sessions.mu.Lock()
	defer s.auth.sessions.mu.Unlock()
	return len(s.auth.sessions.all)
}

// Streams returns the number of open streams.
func (e *Events) Streams() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.streams
}
