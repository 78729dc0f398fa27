package admin

import (
	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// Describe returns a lock as the API does, for commands that query an engine directly.
// The key includes the client's prefix.
func Describe(info interlock.LockInfo) LockDetail {
	l := LockDetail{Lock: Lock{
		Key: info.Key, Kind: info.Kind.String(), Holders: []Holder{}, Waiters: len(info.Waiters), Listeners: info.Listeners,
	}, Queue: []Waiter{}}
	for _, h := range info.Holders {
		l.Holders = append(l.Holders, Holder{
			Owner: hashed(h.Holder), Kind: h.Kind.String(), Fence: h.Fence, Count: h.Count, HeldMS: millis(heldFor(h)), TTLMS: millis(h.Left), Client: program(h.Client),
		})
	}
	for _, w := range info.Waiters {
		l.Queue = append(l.Queue, Waiter{Owner: hashed(w.Holder), Kind: w.Kind.String(), TTLMS: millis(w.Left), Client: program(w.Client)})
	}
	return l
}

// DescribeClaim returns a record as the API does.
func DescribeClaim(rec guard.Record) ClaimDetail { return claim(rec) }

// Outcome returns the state for done, failed or free, as the API names them.
func Outcome(name string) (s engine.State, known bool) {
	s, known = outcomes[name]
	return s, known
}
