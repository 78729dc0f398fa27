package memory

// roomy is how many entries a shard's maps may have grown to before they are
// made anew once empty: Go's maps do not shrink by themselves.
const roomy = 1024

// keep takes room for e and puts it away, and reports whether there was room.
func (s *shard) keep(e *entry) bool {
	if !s.room.take() {
		return false
	}
	s.put(e)
	return true
}

func (s *shard) put(e *entry) {
	if e.grave {
		s.graves[identity{e.key, e.holder, e.attempt}] = e
	} else {
		s.locks[e.key] = e
	}
	s.expiry.add(e)
	s.peak = max(s.peak, len(s.expiry))
}

// drop takes e out again and gives its room back.
func (s *shard) drop(e *entry) {
	s.room.giveBack()
	if e.grave {
		delete(s.graves, identity{e.key, e.holder, e.attempt})
	} else {
		delete(s.locks, e.key)
	}
	s.expiry.remove(e)
	if len(s.expiry) == 0 && s.peak > roomy {
		s.locks, s.graves = make(map[string]*entry), make(map[identity]*entry)
		s.expiry, s.peak = nil, 0
	}
}

// prolong lets e last until then, if it does not last longer already.
func (s *shard) prolong(e *entry, until int64) {
	if until > e.expires {
		e.expires = until
		s.expiry.moved(e)
	}
}

// end drops an entry whose time has come, and tells who waits for it.
func (s *shard) end(e *entry) {
	s.drop(e)
	if !e.grave {
		s.ears.wake(e.key)
	}
}

// shed ends a few of the entries that are over. Every operation begins with it,
// so that nothing ever has to look at all.
func (s *shard) shed(now int64) {
	for range shedding {
		if len(s.expiry) == 0 || now < s.expiry[0].expires {
			return
		}
		s.end(s.expiry[0])
	}
}
