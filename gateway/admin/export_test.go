package admin

// Visitors is how many addresses are remembered.
func (s *Server) Addresses() int {
	s.auth.limits.mu.Lock()
	defer s.auth.limits.mu.Unlock()
	return len(s.auth.limits.all)
}

// Sessions is how many sessions are.
func (s *Server) Sessions() int {
	s.auth.sessions.mu.Lock()
	defer s.auth.sessions.mu.Unlock()
	return len(s.auth.sessions.all)
}

// Streams is how many listen.
func (e *Events) Streams() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.streams
}
