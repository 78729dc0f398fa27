// Package history records who asked for locks and who held them, and judges
// whether it was as it should be: no two holds at a time unless both only read,
// rising fences, and if asked for, first come, first served.
//
//	var log history.Log
//	log.Add(history.Event{Kind: history.Ask, Key: "k", Who: "ann"})
//	// ... take the lock ...
//	log.Add(history.Event{Kind: history.Enter, Key: "k", Who: "ann", Fence: hold.Fence()})
//	// ... work, and before the lock is given back ...
//	log.Add(history.Event{Kind: history.Leave, Key: "k", Who: "ann"})
//	fmt.Println(history.Check(log.Events()))
//
// Several processes of one machine write to a [FileLog]. The order of the events
// is what counts; their times are only used to tell how long something took.
package history

import "time"

// A Kind is what happened.
type Kind string

// What can happen to one who wants a lock. The order matters: Ask is recorded
// before the lock is asked for, Enter after it was granted, Leave before it is
// given back, and Lost as soon as its holder knows.
const (
	Ask   Kind = "ask"
	Enter Kind = "enter"
	Leave Kind = "leave"

	// Lost ends a hold that ended by itself. Without a Who it ends all that its
	// Process held and waited for, since the process is dead.
	Lost Kind = "lost"

	// Stop ends a wait without a grant.
	Stop Kind = "stop"

	// Line tells who stands in line according to the engine, behind those told of
	// before. Nobody may then enter past them. It is recorded while the lock is
	// held, so that the line does not move meanwhile.
	Line Kind = "line"
)

// An Event is one line of a history.
type Event struct {
	Kind Kind   `json:"kind"`
	Key  string `json:"key,omitempty"`

	// Who is who wants the lock, one at a time for each key: a goroutine, say.
	// It need only be unique in its Process.
	Who     string `json:"who,omitempty"`
	Process string `json:"process,omitempty"`

	// Holder is what the engine calls who did it. An Enter and a Line that both
	// have one are about the same if it is the same, whatever Who says.
	Holder string `json:"holder,omitempty"`

	// Shared says that it is about reading: several may be inside at a time,
	// though none beside one who is not a reader.
	Shared bool `json:"shared,omitempty"`

	// Fence is the fence of an Enter. Zero means that there was none.
	Fence uint64 `json:"fence,omitempty"`

	// At is when it happened. Logs fill it in if it is zero.
	At time.Time `json:"at"`
}

// name is how a report calls who did it.
func (e Event) name() string {
	who := e.Who
	if who == "" {
		who = e.Holder
	}
	if e.Process == "" {
		return who
	}
	return e.Process + "/" + who
}
