package engine

// A Kind is a sort of lock.
//
// Exclusive and Fair are two ways to ask for the same lock. Read and Write are
// the two sides of a read/write lock. Those three families, permits and latches
// do not mix: a request for a key at which another of them is found fails with
// [ErrKind].
type Kind uint8

// The kinds of locks.
const (
	// Exclusive is a lock that one holder has at a time. Whoever asks when it is
	// free gets it. Every engine has it; the others are in Capabilities.Kinds.
	Exclusive Kind = iota

	// Fair is an exclusive lock that is granted in the order in which it was
	// asked for. One asked for as Exclusive takes its chance past those in line.
	Fair

	// Read is a hold that many may have at the same time, up to [MaxReaders],
	// but none beside a writer. A writer may also read, and keeps that hold when
	// it gives up writing, or when the lease of what it writes has run out: each
	// of the two has its own.
	Read

	// Write is a hold that one has, and nobody else reads meanwhile. A holder
	// that reads cannot come to write: it is refused with [ErrUpgrade].
	Write

	// Permit is one of as many holds as Request.Limit says. Each request counts
	// by its own limit, so a semaphore grows and shrinks with those who ask;
	// what is held stays held. Each attempt is a permit of its own, also of a
	// holder that has one already.
	Permit

	// Latch is what a [Latcher] counts down. Nobody holds it.
	Latch
)

// MaxReaders is how many may read at a time. One more is refused with
// [ErrFull].
const MaxReaders = 1000

// String returns the kind as it is called in options, rules and logs.
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
	return "no kind"
}
