package memory

// records are found by the hash of their keys, which tells the shard already. Two
// keys with one hash are as rare as can be, and kept apart all the same.
type records struct {
	byHash map[uint64]*record
	others map[string]*record // those whose place another key has
}

func newRecords() records {
	return records{byHash: make(map[uint64]*record), others: make(map[string]*record)}
}

func (x *records) find(key string, hash uint64) *record {
	if r := x.byHash[hash]; r != nil && r.key == key {
		return r
	}
	if len(x.others) == 0 {
		return nil
	}
	return x.others[key]
}

func (x *records) add(r *record) {
	if x.byHash[r.hash] == nil {
		x.byHash[r.hash] = r
		return
	}
	x.others[r.key] = r
}

func (x *records) remove(e *entry) {
	if len(x.others) > 0 { // otherwise all have their places
		if r := x.byHash[e.hash]; r == nil || &r.entry != e {
			delete(x.others, e.key)
			return
		}
	}
	delete(x.byHash, e.hash)
}

// all calls yield for each.
func (x *records) all(yield func(*record) bool) {
	for _, r := range x.byHash {
		if !yield(r) {
			return
		}
	}
	for _, r := range x.others {
		if !yield(r) {
			return
		}
	}
}
