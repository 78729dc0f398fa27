package memory

import (
	"errors"
	"sync/atomic"
)

// errFull is engine.ErrFull before it is put into words.
var errFull = errors.New("memory: full")

// room is how much the engine may keep, all shards together.
type room struct {
	limit int64
	used  atomic.Int64
}

// take reports whether there was room for one more, which is then taken.
func (r *room) take() bool {
	if r.used.Add(1) <= r.limit {
		return true
	}
	r.used.Add(-1)
	return false
}

// insist takes room whether there is some or not.
func (r *room) insist() { r.used.Add(1) }

func (r *room) giveBack(n int) { r.used.Add(int64(-n)) }
