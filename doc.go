// Package interlock provides locks across processes: a key has one holder at a
// time.
//
// A [Client] makes locks on an engine: Redis, or the embedded engine that needs no
// server. Acquire a lock with [Mutex.Do], or with [Mutex.Lock] where a closure does
// not fit:
//
//	client := interlock.New(nil) // or interlock.New(engine)
//
//	err := client.Mutex("order:42").Do(ctx, func(ctx context.Context) error {
//		return ship(ctx, 42)
//	})
//
// # The context is the hold
//
// Acquiring a lock returns a context. Losing the lock cancels it at once, with the
// reason as its cause; work that watches the context stops in time. The context
// also carries ownership: with [Reentrant], code under it may acquire the same lock
// again. Ownership never depends on a goroutine. [WithoutHolds] removes it from a
// context, and [WithOwner] shares it between processes by name.
//
// # Waiting
//
// Lock waits until its context is done, or for as long as [Wait] allows; TryLock
// makes one attempt. A release notifies the waiters, and each of them also polls
// once a second in case a notification was lost. Of the goroutines of one process
// that want the same key, one asks the engine and the others wait in a queue behind
// it. A holder hands the lock over to the next of them without a round trip, at most
// eight times in a row. A caller that does not get the lock gets a
// *[ContendedError], which names the holder and says when to retry.
//
// # Kinds of locks
//
// With [Fair], a [Mutex] is granted in order of arrival across processes. An
// [RWMutex] has many readers or one writer, and a [Semaphore] one holder per permit;
// both are fair. A [Multi] acquires several locks, all or none. A [Striped] splits a
// hot key into several locks. A [Latch] waits until other tasks are done. A key
// holds one kind at a time; a request for another kind fails with [ErrKind].
//
// The engine keeps the queue position of each waiter. The position of a waiter that
// died expires after 5 seconds.
//
// # Operators
//
// [Client.Locks] lists holders and waiters. [Client.ForceRelease] releases a lock;
// its holder's context is cancelled with [ErrRevoked] as the reason.
//
// # Leases
//
// A lock survives a dead holder for the length of its lease. Default: 30s. The watchdog
// renews the lease every 10s until Unlock, even after the context was cancelled.
// Cancelling asks the work to stop; Unlock says that the work has stopped. A lease set
// with [Lease] is not renewed. [MaxHold] bounds renewal.
//
// # Errors
//
// Use [errors.Is] with [ErrContended], [ErrLost], [ErrUnavailable],
// [ErrOutcomeUnknown], [ErrClosed], [ErrKey], [ErrOption], [ErrKind] and
// [ErrUpgrade]. Do returns an error if the lock was lost before the work returned. A
// failed release is not an error: the lease expires, and the [Trace] reports it.
//
// # What is not promised
//
// A process may be paused until its lease has expired, and then write before it checks
// its context. No lock with a lease can prevent that. Where a late write would do harm,
// pass [Hold.Fence] to the store and let the store refuse any fence lower than the
// highest it has seen.
//
// A lock lasts only as long as the engine remembers it. A Redis restarted without
// persistence, or a replica promoted before it received the write, may grant the
// lock again. The first holder learns of it at its next renewal, and its fence is lower
// than the second holder's. The README lists the guarantees of each engine.
package interlock
