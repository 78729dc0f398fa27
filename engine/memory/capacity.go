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

// take uses capacity for one entry, and reports whether there was any.
func (r *capacity) take() bool {
	if r.used.Add(1) <= r.limit {
		return true
	}
	r.used.Add(-1)
	return false
}

// force uses capacity for one entry beyond the limit, if need be.
func (r *capacity) force() { r.used.Add(1) }

func (r *capacity) free(n int) { r.used.Add(int64(-n)) }
