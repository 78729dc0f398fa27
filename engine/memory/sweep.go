package memory

// shrinkAbove is the size above which the maps of a shard are replaced when they
// are empty again: Go's maps do not shrink. Smaller maps are kept and reused.
const shrinkAbove = 1024

// tryPut stores e if there is capacity, and reports whether it did.
func (s *shard) tryPut(e *entry) bool {
	if !s.capacity.take() {
		return false
	}
	s.put(e)
	return true
}

// put stores e. The caller has taken its capacity, unless e needs none.
func (s *shard) put(e *entry) {
	s.store.add(e)
	s.expiry.add(e)
	s.added()
}

// added counts a new entry.
func (s *shard) added() {
	s.n++
	s.peak = max(s.peak, s.n)
}

// drop removes e and frees its capacity.
func (s *shard) drop(e *entry) {
	s.capacity.free(s.store.remove(e))
	s.expiry.remove(e)
	s.removed()
}

// removed counts a removed entry, and replaces large maps when they are empty.
// Subscribers and lastFence stay: they are not entries, and fences must not fall.
func (s *shard) removed() {
	if s.n--; s.n == 0 && s.peak > shrinkAbove {
		s.store, s.expiry, s.peak = newStore(), nil, 0
	}
}

// prolong lets e expire at until, unless it expires later.
func (s *shard) prolong(e *entry, until int64) {
	if until > e.expires {
		e.expires = until
		s.expiry.fix(e)
	}
}

// shorten lets e expire at until, unless it expires earlier.
func (s *shard) shorten(e *entry, until int64) {
	if until < e.expires {
		e.expires = until
		s.expiry.fix(e)
	}
}

// expire removes an expired entry and notifies the waiters of its lock.
func (s *shard) expire(e *entry, now int64) {
	switch {
	case e.shared != nil: // other holders may remain
		s.expireShared(e, now)
	case e.class == classQueue: // waiters may remain
		s.prune(s.store.queues[queueID{e.key, e.kind}], now)
	case e.class == classLock:
		s.drop(e)
		s.notifyNext(e.key, e.kind, now)
	default:
		s.drop(e)
	}
}

// sweep removes a few expired entries. Every operation begins with it, so that no
// operation has to scan all entries.
func (s *shard) sweep(now int64) {
	for range sweepLimit {
		// Locks and queues come before records, because their expiry wakes waiters.
		if s.expiry.expired(now) {
			s.expire(s.expiry.first(), now)
			continue
		}
		r := s.store.records.expired(now)
		if r == nil {
			return
		}
		s.erase(r)
	}
}
