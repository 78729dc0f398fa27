// Package history records requests for locks and holds, and checks them: no two
// overlapping holds unless both are reads, rising fences, and optionally order of
// arrival.
//
//	var log history.Log
//	log.Add(history.Event{Kind: history.Ask, Key: "k", Actor: "ann"})
//	// ... acquire the lock ...
//	log.Add(history.Event{Kind: history.Enter, Key: "k", Actor: "ann", Fence: hold.Fence()})
//	// ... work, and before the release ...
//	log.Add(history.Event{Kind: history.Leave, Key: "k", Actor: "ann"})
//	fmt.Println(history.Check(log.Events()))
//
// Several processes of one machine write to a [FileLog]. The order of the events
// counts; their times are used for durations only.
package history

import "time"

// A Kind is the kind of an event.
type Kind string

// The kinds of events. The order matters: Ask is recorded before the request, Enter
// after the grant, Leave before the release, and Lost as soon as the holder knows.
const (
	Ask   Kind = "ask"
	Enter Kind = "enter"
	Leave Kind = "leave"

	// Lost ends a lost hold. Without an Actor it ends all holds and waits of its
	// Process, which is dead.
	Lost Kind = "lost"

	// Stop ends a wait without a grant.
	Stop Kind = "stop"

	// Queued records a waiter of the engine's queue, behind the waiters recorded before.
	// No holder may overtake it. It is recorded while the lock is held, so that the
	// queue does not move.
	Queued Kind = "line"
)

// An Event is one line of a history.
type Event struct {
	Kind Kind   `json:"kind"`
	Key  string `json:"key,omitempty"`

	// Actor is the caller, such as a goroutine, with one request per key at a time.
	// It is unique in its Process.
	Actor   string `json:"actor,omitempty"`
	Process string `json:"process,omitempty"`

	// Holder is the holder id. An Enter and a Queued with the same Holder belong
	// together, whatever their Actor.
	Holder string `json:"holder,omitempty"`

	// Shared marks a read: several may overlap, but not with another hold.
	Shared bool `json:"shared,omitempty"`

	// Fence is the fence of an Enter; zero without one.
	Fence uint64 `json:"fence,omitempty"`

	// At is the time of the event. Logs set it if it is zero.
	At time.Time `json:"at"`
}

// name returns the name of the actor in reports.
func (e Event) name() string {
	name := e.Actor
	if name == "" {
		name = e.Holder
	}
	if e.Process == "" {
		return name
	}
	return e.Process + "/" + name
}
