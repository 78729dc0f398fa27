// Package guard makes work happen once.
//
// A [Guard] runs a function at most once for each key, however many processes
// and goroutines try. The [Policy] decides what duplicates get: the first result,
// a refusal, or a wait.
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
// # Outcomes
//
// The first caller gets a claim, which the guard renews while the work runs. When
// the work returns, the guard settles the claim: with the result, or as failed. If
// the caller dies, panics, times out or loses its claim, the outcome is unknown,
// and [OnUnknown] decides what happens next. No library can decide that for you:
// for money, choose [Hold] or [Resolve].
//
// # Two levels
//
// Duplicates in one process are answered in that process: while the first call
// runs, and for half a second afterwards. Each process sends at most one claim
// per key to the engine at a time. An in-process engine is asked every time,
// because there is no round trip to save; see [Policy.LocalCache].
//
// # Upgrades
//
// Records outlive the program that wrote them, and during a rollout two releases
// run side by side. [Policy.Name], [Policy.Scope], [HashWith] and the client's
// prefix are part of the stored key: if one changes, all earlier records are out
// of reach. Everything else in a Policy may change; a record lasts as long as the
// release that wrote it decided. See [JSON] for results that change, and [Ring]
// for encryption keys.
//
// # What is not promised
//
// Records are as durable as the engine; docs/redis.md describes Redis. Work that
// ignores its context continues after its claim is lost, next to the caller that
// claims the key afterwards: pass the [Fence] to the stores it changes. With [Open],
// work runs unguarded while the engine is down.
package guard
