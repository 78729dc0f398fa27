package engine

import (
	"context"
	"errors"
	"time"
)

// A Ledger stores the records of guards: one per key, saying whether the work was
// begun and how it ended. All times are the engine's.
//
// A record has two entries that expire separately. The lock entry exists while a
// claim is held and expires with its lease. The result entry says that the work
// began, and later how it ended. A result entry without an end and without a lock
// entry means that the outcome is unknown.
//
// As with an [Engine], all methods are safe for concurrent use, honour ctx, and
// return within the engine's own timeout. An error means that the call had no
// effect, unless it matches [ErrUnknown].
type Ledger interface {
	// Claim makes one attempt to claim a key: to get the right to do its work and
	// settle the outcome. It returns the record; Record.Granted reports whether
	// the attempt holds the claim.
	//
	// If the record and c have different fingerprints, Claim fails with
	// [ErrMismatch], whatever the state. A repeated request of the attempt that
	// holds the claim gets the same answer and fence, and renews the claim. After
	// the lease has expired it is a new claim.
	Claim(ctx context.Context, c Claim) (Record, error)

	// Renew restarts the lease of each claim, and the retention of its result
	// entry. It returns one error for each, in order: nil, [ErrNotHolder], or the
	// failure of the call. A renewal never shortens a lease or a retention and
	// never restores a claim.
	Renew(ctx context.Context, cs []Claim) []error

	// Settle ends a claim and records the outcome of the work. Only the attempt
	// that holds the claim can settle it; the answer is Released. A
	// repeated Settle answers Released while the first outcome is retained, and
	// does not change it. The answer is NotYours if the key was claimed again since.
	// Otherwise, without a record or after the lease, it is AlreadyFree.
	Settle(ctx context.Context, s Settlement) (Outcome, error)

	// Lookup returns the record of a key. The state of a key without a record is
	// [Absent].
	Lookup(ctx context.Context, key string) (Record, error)

	// List returns one page of the records whose keys match pattern, without
	// their results. The first cursor is ""; next is "" after the last page. A
	// record that exists throughout is listed at least once.
	List(ctx context.Context, pattern, cursor string) (records []Record, next string, err error)

	// Watch returns a channel that receives when a claim of the key was settled or
	// undone, until stop is called; see [Notifier]. It need not receive when a
	// lease expires: Record.Left says when to look.
	Watch(key string) (wake <-chan struct{}, stop func())
}

// A Claim is an attempt to claim a key.
type Claim struct {
	Key string

	// Attempt is new for every claim.
	Attempt string

	// Fingerprint identifies the payload of the work. An empty fingerprint matches any
	// record, and leaves the record's fingerprint as it is.
	Fingerprint string

	// Lease is how long the claim survives its holder.
	Lease time.Duration

	// Retain is how long the beginning of the work is recorded, from the grant or
	// the last renewal. A claim that expires within that time leaves an [Unknown]
	// outcome, so Retain should be longer than Lease. With zero, a claim that
	// expires leaves nothing.
	Retain time.Duration

	// TakeOver grants the claim even if the previous outcome is unknown, and
	// replaces that record. It never takes a claim whose lease is valid, and does
	// not change a record that is Done or Failed.
	TakeOver bool

	// Retry means that this attempt may have been sent before.
	Retry bool
}

// A Settlement is the end of a claim.
type Settlement struct {
	Key     string
	Attempt string

	// Outcome is Done, Failed, Unknown, or Absent to keep nothing, so that the
	// next claim is granted.
	Outcome State

	// Result is stored unchanged, if the outcome is Done or Failed.
	Result []byte

	// Retain is how long the outcome is kept, above zero unless the outcome is
	// Absent. It counts from now, or with FromStart from the grant; then it may
	// have passed already.
	Retain    time.Duration
	FromStart bool

	// Abandon undoes a claim whose reply was lost and whose work was not begun. It
	// requires the outcome Absent. If the claim was granted, it is undone, even after its
	// lease, and its record is deleted: the answer is Released. A claim that took over an
	// unknown outcome leaves that outcome unknown, for its own retention. A claim
	// that arrives later, within Lease from now, fails with [ErrAbandoned], with
	// the exception in Capabilities.LateGrant. A settled outcome does not change.
	Abandon bool
	Lease   time.Duration
}

// A Record is a record of a [Ledger].
type Record struct {
	Key         string
	State       State
	Granted     bool          // the requested claim is held; the state is Running
	TookOver    bool          // granted over an unknown outcome
	Fence       uint64        // the fence of the last claim; it grows with every claim
	Began       time.Time     // when that claim was granted, by the engine's clock; zero only if there is no record
	Age         time.Duration // time since Began
	Left        time.Duration // time until the lease expires if Running, otherwise until the record does
	Fingerprint string
	Result      []byte // if Done or Failed
	Local       bool   // valid in this process only: the engine has degraded
}

// A State is the state of a record.
type State uint8

// The states of a record.
const (
	Absent  State = iota // there is no record
	Running              // a claim is held
	Done                 // the work was done
	Failed               // the work failed, and is not retried while the record is kept
	Unknown              // the work began, and its outcome is unknown
)

// String returns the state in a word.
func (s State) String() string {
	switch s {
	case Absent:
		return "absent"
	case Running:
		return "running"
	case Done:
		return "done"
	case Failed:
		return "failed"
	case Unknown:
		return "unknown"
	}
	return "no state"
}

// ErrMismatch reports a claim whose fingerprint differs from the record's.
var ErrMismatch = errors.New("engine: the key was claimed with another fingerprint")
