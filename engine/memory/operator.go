package memory

// Evict frees key, whoever holds it and whatever it is, forgets its record, and
// tells nobody: as the failover of a server might, or an operator who deletes what
// he should not. Who stands in line stays there.
func (e *Engine) Evict(key string) {
	s, hash, now := e.find(key)
	defer s.mu.Unlock()
	if l := s.lock(key, now); l != nil {
		s.drop(l)
	}
	if r := s.record(key, hash, now); r != nil {
		s.erase(r)
	}
}

// Len returns how many holds, places in line, latches and their counts, records,
// and tombstones the engine keeps. Those that are over count until an operation has
// cleared them away.
func (e *Engine) Len() int { return int(e.room.used.Load()) }
