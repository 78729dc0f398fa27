package memory

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// errFull and errFullBytes become engine.ErrFull with advice; see Engine.explain.
var (
	errFull      = errors.New("memory: full")
	errFullBytes = fmt.Errorf("%w of results", errFull)
)

// capacity bounds the entries of all shards together, and the bytes of their results.
type capacity struct {
	limit, maxBytes int64
	used, bytes     atomic.Int64
}

// bytesLeft reports whether a new claim may be granted. The results of claims that were
// granted before are always stored: their work is done.
func (r *capacity) bytesLeft() bool { return r.bytes.Load() < r.maxBytes }

// take reserves capacity for one entry, and reports whether any was left. It adds before
// it compares, so that two shards cannot both take the last unit.
func (r *capacity) take() bool {
	if r.used.Add(1) <= r.limit {
		return true
	}
	r.used.Add(-1)
	return false
}

// force reserves capacity for one entry, beyond the limit if necessary. It is for tombstones
// that replace an entry, and for revocations, which are never refused.
func (r *capacity) force() { r.used.Add(1) }

// free returns the capacity of n entries.
func (r *capacity) free(n int) { r.used.Add(int64(-n)) }
