package engine

import (
	"context"
	"time"
)

// Quotas count executions. Each execution takes one unit of a quota, and the unit counts
// until its window ends. All times are the engine's.
//
// As with an [Engine], all methods are safe for concurrent use, honour ctx, and return
// within the engine's own timeout. An error means that the call had no effect, unless it
// matches [ErrUnknown].
type Quotas interface {
	// Take takes a unit for q's attempt if fewer than q.Limit units count. A repeated
	// request of an attempt whose unit counts is granted again and takes no other unit. If
	// q has no attempt, it takes nothing and reports the usage.
	Take(ctx context.Context, q Quota) (Usage, error)

	// Return gives back the unit of q's attempt, and reports whether it counted.
	Return(ctx context.Context, q Quota) (bool, error)
}

// A Quota is a request for one unit of a quota. Quotas and locks have separate keys.
type Quota struct {
	Key string

	// Attempt is new for every execution.
	Attempt string

	// Limit is the number of units. The engine applies the limit of each request.
	Limit int

	// Window is how long a unit counts after it was taken. All requests for a key have the
	// same window. After the engine's clock was
	// set back, no unit counts for longer than Window from the next request on.
	Window time.Duration

	// From and Until replace Window if Until is not zero: all units of the key count until
	// Until. At any other time than from From on and before Until, the engine grants
	// nothing and sets Usage.Outside.
	From, Until time.Time
}

// A Usage is the answer to [Quotas.Take].
type Usage struct {
	Granted bool
	Used    int           // units that count, including the granted one
	Next    time.Duration // until fewer units count, and fewer than the limit; zero if none counts
	Now     time.Time     // the engine's clock
	Outside bool          // Now is not in the window of the request
	Local   bool          // counted in this process only: the engine has degraded
}
