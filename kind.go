package interlock

import "github.com/interlock-go/interlock/engine"

// A Kind is a sort of lock, as traces and operators see it.
type Kind = engine.Kind

// The kinds of locks.
const (
	KindExclusive = engine.Exclusive // a [Mutex]
	KindFair      = engine.Fair      // a Mutex with [Fair]
	KindRead      = engine.Read      // see [RWMutex.Read]
	KindWrite     = engine.Write     // see [RWMutex.Write]
	KindPermit    = engine.Permit    // a permit of a [Semaphore]
)
