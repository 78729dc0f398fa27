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
	s.kept.add(e)
	s.expiry.add(e)
	s.come()
}

// come counts one more.
func (s *shard) come() {
	s.n++
	s.peak = max(s.peak, s.n)
}

// drop takes e out again and gives its room back.
func (s *shard) drop(e *entry) {
	s.room.giveBack(s.kept.forget(e))
	s.expiry.remove(e)
	s.left()
}

// left counts one less, and makes everything anew after the last of many.
func (s *shard) left() {
	if s.n--; s.n == 0 && s.peak > roomy {
		s.kept, s.expiry, s.peak = newKept(), nil, 0
	}
}

// prolong lets e last until then, if it does not last longer already.
func (s *shard) prolong(e *entry, until int64) {
	if until > e.expires {
		e.expires = until
		s.expiry.moved(e)
	}
}

// cut lets e last until then at most.
func (s *shard) cut(e *entry, until int64) {
	if until < e.expires {
		e.expires = until
		s.expiry.moved(e)
	}
}

// end does what there is to do when the time of e has come, and tells who waits
// for it.
func (s *shard) end(e *entry, now int64) {
	switch {
	case e.crowd != nil:
		s.thin(e, now)
	case e.sort == aLine:
		s.tidy(s.kept.lines[lineID{e.key, e.kind}], now)
	case e.sort == aLock:
		s.drop(e)
		s.beckon(e.key, e.kind, now)
	default:
		s.drop(e)
	}
}

// shed ends a few of the entries that are over. Every operation begins with it,
// so that nothing ever has to look at all.
func (s *shard) shed(now int64) {
	for range shedding {
		if s.expiry.over(now) {
			s.end(s.expiry.first(), now)
			continue
		}
		r := s.kept.records.over(now)
		if r == nil {
			return
		}
		s.erase(r)
	}
}
