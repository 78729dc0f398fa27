package admin

import (
	"encoding/json"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// Describe tells about a lock as the API does, for commands that ask an engine
// themselves. Its key is whole.
func Describe(info interlock.LockInfo) LockDetail {
	l := LockDetail{Lock: Lock{
		Key: info.Key, Kind: info.Kind.String(), Holders: []Holder{}, Waiters: len(info.Waiters), Listeners: info.Listeners,
	}, Queue: []Waiter{}}
	for _, h := range info.Holders {
		l.Holders = append(l.Holders, Holder{
			Owner: hashed(h.Holder), Kind: h.Kind.String(), Fence: h.Fence, Count: h.Count, TTLMS: millis(h.Left), Client: program(h.Client),
		})
	}
	for _, w := range info.Waiters {
		l.Queue = append(l.Queue, Waiter{Owner: hashed(w.Holder), Kind: w.Kind.String(), TTLMS: millis(w.Left), Client: program(w.Client)})
	}
	return l
}

// DescribeClaim tells about a record as the API does.
func DescribeClaim(rec guard.Record) ClaimDetail { return claim(rec) }

// Outcome returns what the API's word for an outcome means: done, failed or free.
func Outcome(word string) (s engine.State, known bool) {
	s, known = outcomes[word]
	return s, known
}

// A Verdict is what an operator says became of work, as in the API.
type Resolution struct {
	Outcome  string
	Result   json.RawMessage // only with done
	Response *Response       // only with done
	Error    string          // only with failed; the default is the reason
	Reason   string
}

// Kept returns what [guard.Records.Resolve] is to keep of it.
func (v Resolution) Stored() ([]byte, error) {
	return (&resolution{ReasonBody: ReasonBody{Reason: v.Reason}, Outcome: v.Outcome, Result: v.Result, Response: v.Response, Error: v.Error}).stored()
}
