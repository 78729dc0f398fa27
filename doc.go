// Package interlock makes an operation happen one at a time, however many
// processes try.
//
// A [Client] makes locks on an engine: Redis, or one that lives in the process
// and needs no server. A lock is taken with [Mutex.Do], or with [Mutex.Lock]
// where a closure does not fit:
//
//	client := interlock.New(nil) // or interlock.New(engine)
//
//	err := client.Mutex("order:42").Do(ctx, func(ctx context.Context) error {
//		return ship(ctx, 42)
//	})
//
// # The context is the hold
//
// Taking a lock returns a context. It ends, with the reason as its cause, the
// moment the lock can no longer be relied on; work that heeds it stops in time.
// It also carries ownership: with [Reentrant], code that was given it may take
// the same lock again. Ownership never depends on a goroutine. [WithoutHolds]
// leaves it behind, [WithOwner] shares it between processes by name.
//
// # Waiting
//
// Lock waits until its context is done, or for as long as [Wait] allows;
// TryLock asks once. Who waits is woken by the release, and looks for itself
// at least once a second in case the wake-up was lost. Of the goroutines of a
// process that want the same key, one stands at the engine and the others in
// line behind it, first come first served; the lock passes down the line
// without a round trip, eight times in a row at most. Who does not get the
// lock gets a *[ContendedError]: who has it, and when to come back.
//
// # Kinds of locks
//
// With [Fair] a [Mutex] goes to those who wait in the order they came, over all
// processes. An [RWMutex] has many readers or one writer, a [Semaphore] as many
// holders as it has permits, both first come first served. A [Multi] is several
// locks taken all or none, a [Striped] a hot key split into several, and a
// [Latch] lets wait until others are done. Kinds do not mix on one key; that is
// [ErrKind].
//
// Who waits has a place in the engine's line and comes back for it; the place of
// one that died is given up after five seconds.
//
// # Operators
//
// [Client.Locks] lists who holds what, and who waits. [Client.ForceRelease] takes
// a lock away; its holder's context ends with [ErrRevoked] as the reason.
//
// # Leases
//
// A lock survives its holder by its lease, 30 seconds by default, and is
// renewed every third of that until it is unlocked, even if the context was
// cancelled: cancelled is asked to stop, unlocked is stopped. A lease set with
// [Lease] is not renewed. [MaxHold] bounds renewal.
//
// # Errors
//
// Every error can be told apart with [errors.Is]: [ErrContended], [ErrLost],
// [ErrUnavailable], [ErrOutcomeUnknown], [ErrClosed], [ErrKey], [ErrOption],
// [ErrKind], [ErrUpgrade].
// A lock that was lost before the work returned is part of Do's answer. A
// release that failed is not: the lease runs out, and the [Trace] is told.
//
// # What is not promised
//
// A lock with a lease cannot stop a process that was paused while its lease ran
// out and goes on before it looks at its context. No such lock can. Where a
// late write would hurt, hand [Hold.Fence] to the store and let it refuse any
// number lower than one it has seen.
//
// What an engine forgets is not held: a Redis restarted without persistence, or
// a replica promoted before it had the write, may grant the lock a second time.
// The first holder learns of it at its next renewal, and its fence is lower.
// The promises of each engine are listed in the README.
package interlock
