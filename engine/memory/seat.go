package memory

import "github.com/interlock-go/interlock/engine"

// A seat is what a hold among many, or a place in line, is found by. Attempts are
// told apart only where each is a hold of its own.
type seat struct {
	kind            engine.Kind
	holder, attempt string
}

func seatOf(r engine.Request) seat { return seatAt(r.Kind, r.Holder, r.Attempt) }

// seat is what l is found by if it holds a lock among many, or stands in line.
func (l *entry) seat() seat { return seatAt(l.kind, l.holder, l.attempt) }

func seatAt(kind engine.Kind, holder, attempt string) seat {
	if kind == engine.Permit {
		return seat{kind, holder, attempt}
	}
	return seat{kind: kind, holder: holder}
}

// family is the first of the kinds that may be at one key together.
func family(k engine.Kind) engine.Kind {
	switch k {
	case engine.Fair:
		return engine.Exclusive
	case engine.Write:
		return engine.Read
	}
	return k
}
