package guard

import (
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
)

// A Weakness is a setting that weakens the protection of a guard. Its text says what may
// happen, and what to change.
type Weakness string

// The weaknesses.
const (
	WeakRerun  Weakness = "after an unknown outcome the work runs again, and may happen twice: use OnUnknown hold or resolve"
	WeakRetain Weakness = "results are forgotten within the hour, and a later retry runs again: use a Retain of 24h"
	WeakShared Weakness = "all users share one key space, and one user may get the result of another: use a scope with the user"
	WeakEngine Weakness = "records are stored in this process: they are lost on a restart and not shared with other processes; use Redis"
)

// ShortRetain is the Retain below which a policy is weak: clients and queues retry for
// longer than that.
const ShortRetain = time.Hour

// Weaknesses returns the weaknesses of a policy that keeps results. Other policies have
// none, because they only promise to refuse repeats while the work runs or during their
// window.
func (p Policy) Weaknesses() (found []Weakness) {
	if p = p.WithDefaults(); p.After != Keep {
		return nil
	}
	if p.OnUnknown == Rerun {
		found = append(found, WeakRerun)
	}
	if p.Retain < ShortRetain {
		found = append(found, WeakRetain)
	}
	return found
}

// warn reports the weaknesses of a guard to the client's trace, each once.
func (p Policy) warn(client *interlock.Client, caps engine.Capabilities) {
	for _, w := range p.Weaknesses() {
		client.Warn(p.Name, string(w))
	}
	if caps.InProcess && p.After == Keep {
		client.Warn("", string(WeakEngine))
	}
}
