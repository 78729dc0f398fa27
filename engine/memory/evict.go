package memory

// Evict deletes the lock and the record at key without notifying any client. Tests use it
// to imitate a failover or a careless operator. Waiters keep their positions.
func (e *Engine) Evict(key string) {
	s, hash, now := e.find(key)
	defer s.mu.Unlock()
	if l := s.lockAt(key, now); l != nil {
		// drop notifies no waiter; expire would.
		s.drop(l)
	}
	if r := s.record(key, hash, now); r != nil {
		s.erase(r)
	}
}

// Len returns the number of holds, queue positions, latches and their counts, records,
// and tombstones. Expired ones count until an operation has swept them.
func (e *Engine) Len() int { return int(e.capacity.used.Load()) }
