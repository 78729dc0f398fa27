package engine

// A Kind is the kind of a lock.
//
// Exclusive and Fair are two ways to acquire the same lock. Read and Write belong
// to one read/write lock. These two families, permits and latches do not mix: a
// request for a key that holds another family fails with [ErrKind].
type Kind uint8

// The kinds of locks.
const (
	// Exclusive is a lock with one holder at a time. A free lock goes to the
	// first request. Every engine supports it; Capabilities.Kinds lists the rest.
	Exclusive Kind = iota

	// Fair is an exclusive lock that is granted in order of arrival. Exclusive
	// requests for the same key may overtake the queue.
	Fair

	// Read is a hold that up to [MaxReaders] holders share while there is no writer. A
	// writer may also acquire Read. The two holds have separate leases, so the read
	// hold stays when the write hold ends.
	Read

	// Write is a hold without any other writer or reader. A reader that asks for
	// it is refused with [ErrUpgrade].
	Write

	// Permit is one of Request.Limit holds. The engine applies the limit of each
	// request, so callers may raise or lower it; permits that are held stay held.
	// Each attempt gets a permit of its own, even for the same holder.
	Permit

	// Latch is counted down by a [Latcher]. It has no holder.
	Latch
)

// MaxReaders is the number of readers of one lock. One more is refused with
// [ErrFull].
const MaxReaders = 1000

// String returns the name of the kind in options, rules and logs.
func (k Kind) String() string {
	switch k {
	case Exclusive:
		return "exclusive"
	case Fair:
		return "fair"
	case Read:
		return "read"
	case Write:
		return "write"
	case Permit:
		return "permit"
	case Latch:
		return "latch"
	}
	return "unknown"
}
