package admin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
)

// A Top lists the locks that deserve a look, at most ten of each sort.
type Top struct {
	Now       []TopLock `json:"now" doc:"The locks with the longest holds of all processes, the longest first."`
	Complete  bool      `json:"complete" doc:"Whether the list now covers all locks. If there are many, only the first pages are read."`
	LastHour  []TopHold `json:"last_hour" doc:"The longest holds of this process that ended within the last hour."`
	Contended []TopKey  `json:"contended" doc:"The keys with most callers in this process that could not have the lock at once."`
}

// A TopLock is a lock and how long its oldest holder has had it.
type TopLock struct {
	Lock
	Since time.Time `json:"since" doc:"When its oldest holder acquired it, by the engine's clock."`
}

// A TopHold is a hold of this process that ended.
type TopHold struct {
	Name   string    `json:"name" doc:"The business name, such as the name of a rule."`
	Key    string    `json:"key" doc:"Without the gateway's namespace. Escape it before you print it."`
	Kind   string    `json:"kind"`
	Owner  string    `json:"owner" doc:"A hash of the holder's id."`
	Fence  uint64    `json:"fence"`
	Since  time.Time `json:"since"`
	HeldMS int64     `json:"held_ms"`
}

// A TopKey is a contended key.
type TopKey struct {
	Name    string     `json:"name" doc:"The business name of the last caller."`
	Key     string     `json:"key" doc:"Without the gateway's namespace. Escape it before you print it."`
	Kind    string     `json:"kind"`
	Callers uint64     `json:"callers" doc:"How often a caller began to wait, or gave up at once, within the last 30 to 60 minutes."`
	Error   uint64     `json:"error" doc:"callers is too high by at most this."`
	Owner   string     `json:"owner" doc:"A hash of the holder's id: the present holder if it is in this process, otherwise the last one seen."`
	Since   *time.Time `json:"since,omitempty" doc:"When the holder acquired the lock; missing if the holder is in another process."`
}

// topSize is the length of a list.
const topSize = 10

// getTop reads the locks of all processes from the engine, and the rest from the client.
func (s *Server) getTop(ctx context.Context, _ *struct{}) (*body[Top], error) {
	client := s.client()
	out := Top{Now: []TopLock{}, LastHour: []TopHold{}, Contended: []TopKey{}}
	var err error
	if out.Now, out.Complete, err = longestNow(ctx, client); err != nil {
		return nil, err
	}
	top := client.Top()
	for _, h := range top.LastHour {
		if key, ok := strings.CutPrefix(h.Key, client.Prefix()); ok {
			out.LastHour = append(out.LastHour, TopHold{h.Name, key, h.Kind.String(), h.Holder, h.Fence, h.Since, millis(h.Held)})
		}
	}
	for _, k := range top.Contended {
		if key, ok := strings.CutPrefix(k.Key, client.Prefix()); ok {
			x := TopKey{Name: k.Name, Key: key, Kind: k.Kind.String(), Callers: k.Callers, Error: k.Error, Owner: k.Holder}
			if !k.Since.IsZero() {
				x.Since = &k.Since
			}
			out.Contended = append(out.Contended, x)
		}
	}
	return answer(out), nil
}

// longestNow reads at most maxPages of the engine.
func longestNow(ctx context.Context, client *interlock.Client) (locks []TopLock, complete bool, err error) {
	locks = []TopLock{}
	cursor := ""
	for range maxPages {
		infos, next, err := client.LocksFrom(ctx, "", cursor)
		if err != nil {
			return nil, false, err
		}
		for _, info := range infos {
			if since := oldest(info); !since.IsZero() {
				locks = append(locks, TopLock{describe(client, info).Lock, since})
			}
		}
		// A list may repeat a lock. The copies are neighbours after the sort.
		slices.SortFunc(locks, func(a, b TopLock) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key)) })
		locks = slices.CompactFunc(locks, func(a, b TopLock) bool { return a.Key == b.Key })
		locks = locks[:min(len(locks), topSize)]
		if cursor = next; cursor == "" {
			return locks, true, nil
		}
	}
	return locks, false, nil
}

// oldest returns when the oldest holder acquired the lock; zero if the engine does not know.
func oldest(info interlock.LockInfo) (since time.Time) {
	for _, h := range info.Holders {
		if !h.Since.IsZero() && (since.IsZero() || h.Since.Before(since)) {
			since = h.Since
		}
	}
	return since
}
