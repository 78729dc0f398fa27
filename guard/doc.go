// Package guard makes work happen once.
//
// A [Guard] runs a function at most once for each key, however many processes
// and goroutines try. What those who come too late get is for the [Policy] to
// say: the result of the first, a refusal, or a wait.
//
//	orders, err := guard.New[Order](client, guard.Policy{Name: "order"})
//	...
//	order, err := orders.Do(ctx, guard.Of(user, token), func(ctx context.Context) (Order, error) {
//		return place(ctx, cart)
//	})
//
// [Guard.Begin] has the shape of a database transaction, for work that is not
// one function.
//
// # What becomes of the work
//
// The first caller gets a claim, which is renewed while the work runs. When it
// returns, the claim is settled: with its result, or as failed. A caller that
// dies, panics, runs out of time or loses its claim leaves an outcome that
// nobody knows; see [OnUnknown] for what happens then. That is the one question
// that no library can answer for you: for money choose [Hold] or [Resolve].
//
// # Two levels
//
// Duplicates in one process are answered there, for as long as the first one is
// at work and half a second longer; at most one claim for each key and process is on
// its way to the engine at a time. An engine that is in the process itself is asked
// each time, as there is no trip to save; see [Policy.Local].
//
// # From release to release
//
// Records outlive the program that wrote them, and while one release takes the place of
// another both are at work. [Policy.Name], [Policy.Scope], [HashWith] and the client's
// prefix are part of what the engine calls a key: with another one, all that was done is
// forgotten. What else a Policy says may change; a record lasts for as long as the
// release said that wrote it. See [JSON] for a result that changes, and [Ring] for keys.
//
// # What is not promised
//
// Records are as lasting as what the engine keeps; docs/redis.md says what that
// is on Redis. Work that takes no notice of its context goes on after its claim was
// lost, beside whoever claimed the key then: hand the [Fence] to what it changes.
// With [Open], work runs unguarded while the engine is down.
package guard
