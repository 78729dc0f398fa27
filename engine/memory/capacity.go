package memory

import (
	"errors"
	"sync/atomic"
)

// errFull becomes engine.ErrFull with advice; see Engine.explain.
var errFull = errors.New("memory: full")

// capacity bounds the entries of all shards together.
type capacity struct {
	limit int64
	used  atomic.Int64
}

// take uses capacity for one entry, and reports whether there was any. It adds before it
// compares, so that two shards cannot both take the last.
func (r *capacity) take() bool {
	if r.used.Add(1) <= r.limit {
		return true
	}
	r.used.Add(-1)
	return false
}

// force uses capacity for one entry beyond the limit, if need be. It is for tombstones
// that replace an entry, and for revocations, which are never refused.
func (r *capacity) force() { r.used.Add(1) }

// free returns the capacity of n entries.
func (r *capacity) free(n int) { r.used.Add(int64(-n)) }
