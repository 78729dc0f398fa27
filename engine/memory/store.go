package memory

// A store holds the entries of a shard by their keys.
type store struct {
	locks       map[string]*entry     // locks and latches
	latches     map[string]*latch     // the latches among locks, with their counts
	tombstones  map[attemptKey]*entry // of abandoned attempts; those of claims have no holder
	revocations map[attemptKey]*entry // of holds that an operator released by force
	queues      map[queueID]*queue
	quotas      map[string]*quota
	clients     map[string]*client // by ID
	records     records
}

// newStore returns an empty store. An emptied shard takes a new one to free the memory of
// its maps; see removed.
func newStore() store {
	return store{
		locks:       make(map[string]*entry),
		latches:     make(map[string]*latch),
		tombstones:  make(map[attemptKey]*entry),
		revocations: make(map[attemptKey]*entry),
		queues:      make(map[queueID]*queue),
		quotas:      make(map[string]*quota),
		clients:     make(map[string]*client),
		records:     newRecords(),
	}
}

// add stores e. Queues, quotas and clients are stored by their own code.
func (k *store) add(e *entry) {
	switch e.class {
	case classLock, classLatch:
		k.locks[e.key] = e
	case classTombstone:
		k.tombstones[attemptKey{e.key, e.holder, e.attempt}] = e
	case classRevocation:
		k.revocations[attemptKey{e.key, e.holder, e.attempt}] = e
	}
}

// remove removes e and returns how much capacity it used. It frees nothing itself: the
// caller knows the engine's capacity.
func (k *store) remove(e *entry) (used int) {
	switch e.class {
	case classLock:
		delete(k.locks, e.key)
		if e.shared != nil {
			return len(e.shared.holds) // each hold uses capacity, the lock itself does not
		}
	case classLatch:
		counted := len(k.latches[e.key].counted)
		delete(k.locks, e.key)
		delete(k.latches, e.key)
		return 1 + counted // the latch, and each of its counts
	case classTombstone:
		delete(k.tombstones, attemptKey{e.key, e.holder, e.attempt})
	case classRevocation:
		delete(k.revocations, attemptKey{e.key, e.holder, e.attempt})
	case classQueue:
		id := queueID{e.key, e.kind}
		waiters := len(k.queues[id].waiters)
		delete(k.queues, id)
		return waiters // each waiter uses capacity, the queue itself does not
	case classQuota:
		units := len(k.quotas[e.key].units)
		delete(k.quotas, e.key)
		return units // each unit uses capacity, the quota itself does not
	case classClient:
		delete(k.clients, e.key)
		return 0 // clients have a limit of their own
	}
	return 1
}
