package memory

import "github.com/interlock-go/interlock/engine"

// A holdKey identifies a shared hold or a waiter. It includes the attempt only for
// permits, where each attempt is a hold of its own.
type holdKey struct {
	kind            engine.Kind
	holder, attempt string
}

func holdKeyOf(r engine.Request) holdKey { return newHoldKey(r.Kind, r.Holder, r.Attempt) }

// holdKey returns the key of a shared hold or a waiter.
func (l *entry) holdKey() holdKey { return newHoldKey(l.kind, l.holder, l.attempt) }

// newHoldKey leaves out the attempt for kinds other than permits, so that a holder with
// several attempts has one hold and one position.
func newHoldKey(kind engine.Kind, holder, attempt string) holdKey {
	if kind == engine.Permit {
		return holdKey{kind, holder, attempt}
	}
	return holdKey{kind: kind, holder: holder}
}

// family returns one kind for all kinds that may use the same lock key: exclusive and fair
// requests may, and so may read and write requests.
func family(k engine.Kind) engine.Kind {
	switch k {
	case engine.Fair:
		return engine.Exclusive
	case engine.Write:
		return engine.Read
	}
	return k
}
