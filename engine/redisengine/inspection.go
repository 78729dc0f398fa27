package redisengine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/engine"
)

// An inspection is the parsed reply of inspect.lua or force_release.lua.
type inspection struct {
	lock     engine.Lock
	attempts []string // the revoked attempts
}

// kindsByName are the kinds by their names in the scripts.
var kindsByName = map[string]engine.Kind{
	"-": engine.Exclusive, "exclusive": engine.Exclusive, "fair": engine.Fair,
	"read": engine.Read, "write": engine.Write, "permit": engine.Permit,
}

// parseInspection reads the reply; see inspect_common.lua.
func parseInspection(key string, list []Item) inspection {
	found := inspection{lock: engine.Lock{Key: key, Kind: kindsByName[list[0].Text], Listeners: int(list[1].Int)}}
	type waiter struct {
		engine.Waiter
		arrival int64
	}
	var waiters []waiter
	for fields := range slices.Chunk(list[2:], 6) {
		kind, name, left := kindsByName[fields[1].Text], fields[2].Text, left(fields[5].Int)
		switch fields[0].Text {
		case "holder":
			fence, _ := strconv.ParseUint(fields[4].Text, 10, 64) // a lock of another library has none
			found.lock.Holders = append(found.lock.Holders,
				engine.Holder{Name: name, Kind: kind, Count: int(fields[3].Int), Fence: fence, Left: left})
		case "waiter":
			waiters = append(waiters, waiter{engine.Waiter{Name: name, Kind: kind, Left: left}, fields[3].Int})
		case "attempt":
			found.attempts = append(found.attempts, name)
		}
	}
	slices.SortStableFunc(found.lock.Holders, func(a, b engine.Holder) int { return cmp.Compare(b.Kind, a.Kind) })
	// The queues of readers and writers are separate on the server, so arrivals merge
	// them.
	slices.SortStableFunc(waiters, func(a, b waiter) int { return cmp.Compare(a.arrival, b.arrival) })
	for _, w := range waiters {
		found.lock.Waiters = append(found.lock.Waiters, w.Waiter)
	}
	return found
}

// clients returns the IDs of the clients whose locks were revoked. The holder may be a named
// owner, so the attempts count as well.
func (f inspection) clients() (ids []string) {
	add := func(name string) {
		if at := strings.LastIndexByte(name, ':'); at > 0 {
			ids = append(ids, name[:at])
		}
	}
	for _, h := range f.lock.Holders {
		add(h.Name)
	}
	for _, name := range f.attempts {
		_, attempt, _ := strings.Cut(name, "/")
		add(attempt)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
