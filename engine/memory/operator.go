package memory

// Evict frees key, whoever holds it, and tells nobody: as the failover of a
// server might, or an operator who deletes what he should not.
func (e *Engine) Evict(key string) {
	s, now := e.enter(key)
	defer s.mu.Unlock()
	if l := s.lock(key, now); l != nil {
		s.drop(l)
	}
}

// Len returns how many locks and tombstones the engine keeps. Those that are over
// count until an operation has cleared them away.
func (e *Engine) Len() int { return int(e.room.used.Load()) }
