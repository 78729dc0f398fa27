package engine

import (
	"context"
	"time"
)

// A Tx stores records of a [Ledger] in a transaction of the caller's database. The records
// take effect when the transaction commits, and a rollback undoes them. So work that changes
// the same database is done and recorded together, or not at all. Engines on such a database
// make a Tx from the caller's transaction.
//
// A Tx is for the goroutine of its transaction. After an error, the caller must roll the
// transaction back.
type Tx interface {
	// Claim makes one attempt to claim a key, as [Ledger].Claim does. Until the
	// transaction ends, no other attempt can claim the key, however long that takes: the
	// lease of c does not expire in the transaction.
	//
	// If another transaction has claimed the key and not ended, Claim waits for its end. If it
	// has not ended when wait has passed, the state is [Running].
	Claim(ctx context.Context, c Claim, wait time.Duration) (Record, error)

	// Settle ends a claim of the transaction and records the outcome of the work; see
	// [Ledger].Settle. Abandon is not needed, because a rollback undoes the claim.
	Settle(ctx context.Context, s Settlement) (Outcome, error)

	// Engine returns the engine that the records belong to.
	Engine() Engine
}
