// Package detach makes contexts for calls that must not end with their caller's
// context, such as releases.
package detach

import (
	"context"
	"sync/atomic"
	"time"
)

// Timeout bounds every detached call.
const Timeout = 2 * time.Second

// slack is how long a context is shared. A call may get that much less than Timeout.
const slack = Timeout / 20

// A Source makes detached contexts. Calls at about the same time share one: a
// context per release would cost more than the rest of the release.
type Source struct{ last atomic.Pointer[shared] }

type shared struct {
	context.Context
	_     context.CancelFunc // never called: other calls share the context, which ends at its deadline
	fresh time.Time          // shared until then
}

// Context returns a context that ends 1.9 to 2 s after now.
func (s *Source) Context(now time.Time) context.Context {
	if c := s.last.Load(); c != nil && now.Before(c.fresh) {
		return c
	}
	ctx, cancel := context.WithDeadline(context.Background(), now.Add(Timeout))
	c := &shared{ctx, cancel, now.Add(slack)}
	s.last.Store(c)
	return c
}
