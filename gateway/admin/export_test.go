package admin

// Visitors is how many addresses are remembered.
func (s *Server) Visitors() int {
	s.door.visitors.mu.Lock()
	defer s.door.visitors.mu.Unlock()
	return len(s.door.visitors.all)
}

// Sessions is how many sessions are.
func (s *Server) Sessions() int {
	s.door.sessions.mu.Lock()
	defer s.door.sessions.mu.Unlock()
	return len(s.door.sessions.all)
}

// Streams is how many listen.
func (e *Events) Streams() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.streams
}
