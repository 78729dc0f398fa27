package postgres

import (
	"context"
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// maxPerCall is how many holds or claims one call renews. A call locks all its keys until
// its transaction ends, and the server has memory for about 6,400 locks by default.
const maxPerCall = 50

// Renew implements [engine.Engine].
func (e *Engine) Renew(ctx context.Context, rs []engine.Request) []error {
	return e.renewAll(ctx, len(rs), func(i int) error { return checkRequest(&rs[i]) }, func(valid []int) ([]int64, *statement, error) {
		var (
			keys, holders, attempts [][]byte
			kinds, leases           []int64
		)
		for _, i := range valid {
			r := &rs[i]
			keys, holders, attempts = append(keys, []byte(r.Key)), append(holders, []byte(r.Holder)), append(attempts, []byte(r.Attempt))
			kinds, leases = append(kinds, int64(r.Kind)), append(leases, micros(r.Lease))
		}
		s := e.call("renew", rs[valid[0]].Key, keys, kinds, holders, attempts, leases, e.shareOfWait(len(valid)))
		var codes []int64
		err := e.row(ctx, s, &codes)
		return codes, s, err
	})
}

// shareOfWait is how long each of n keys may be waited for, in ms.
func (e *Engine) shareOfWait(n int) int64 { return max(1, e.wait()/int64(n)) }

// renewAll renews n items, of which check refuses the invalid ones, in calls of at most
// maxPerCall. It returns one error for each.
func (e *Engine) renewAll(ctx context.Context, n int, check func(i int) error, call func(valid []int) ([]int64, *statement, error)) []error {
	errs := make([]error, n)
	var valid []int
	for i := range errs {
		if errs[i] = e.usable(ctx); errs[i] != nil {
			continue
		}
		if errs[i] = check(i); errs[i] == nil {
			valid = append(valid, i)
		}
	}
	for chunk := range slices.Chunk(valid, maxPerCall) {
		codes, s, err := call(chunk)
		if err == nil && len(codes) != len(chunk) {
			err = fail(s, "the answer is incomplete", engine.ErrUnknown)
		}
		for at, i := range chunk {
			if errs[i] = err; err == nil {
				errs[i] = renewError(s, codes[at])
			}
		}
	}
	return errs
}

// renewError returns the error of a code of the functions renew and renew_claims.
func renewError(s *statement, code int64) error {
	switch code {
	case 0:
		return nil
	case 1:
		return engine.ErrNotHolder
	case 2:
		return engine.ErrRevoked
	}
	return lockedError(s)
}
