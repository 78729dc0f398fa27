package memory

// kept is all that a shard keeps, by what it is found by.
type kept struct {
	locks   map[string]*entry // and latches
	latches map[string]*latch
	graves  map[identity]*entry
	notices map[identity]*entry
	lines   map[lineID]*line
	clients map[string]*client
	records records
}

func newKept() kept {
	return kept{
		locks:   make(map[string]*entry),
		latches: make(map[string]*latch),
		graves:  make(map[identity]*entry),
		notices: make(map[identity]*entry),
		lines:   make(map[lineID]*line),
		clients: make(map[string]*client),
		records: newRecords(),
	}
}

// add puts e where it is found.
func (k *kept) add(e *entry) {
	switch e.sort {
	case aLock, aLatch:
		k.locks[e.key] = e
	case aGrave:
		k.graves[identity{e.key, e.holder, e.attempt}] = e
	case aNotice:
		k.notices[identity{e.key, e.holder, e.attempt}] = e
	}
}

// forget takes e out again, and returns how much room it took.
func (k *kept) forget(e *entry) (room int) {
	switch e.sort {
	case aLock:
		delete(k.locks, e.key)
		if e.crowd != nil {
			return len(e.crowd.holds)
		}
	case aLatch:
		counted := len(k.latches[e.key].counted)
		delete(k.locks, e.key)
		delete(k.latches, e.key)
		return 1 + counted
	case aGrave:
		delete(k.graves, identity{e.key, e.holder, e.attempt})
	case aNotice:
		delete(k.notices, identity{e.key, e.holder, e.attempt})
	case aLine:
		id := lineID{e.key, e.kind}
		waiters := len(k.lines[id].waiters)
		delete(k.lines, id)
		return waiters
	case aClient:
		delete(k.clients, e.key)
		return 0 // clients are counted by themselves
	}
	return 1
}
