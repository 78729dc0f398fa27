package cli

import (
	"time"

	"github.com/interlock-go/interlock/guard"
)

// claimList is what key ls writes for programs. The names are those of the admin
// API.
type claimList struct {
	Claims []claimJSON `json:"claims"`
	More   bool        `json:"more"` // there are more than --limit
}

// claimJSON is what a guard remembers of a key.
type claimJSON struct {
	Key   string    `json:"key"` // what the engine calls it
	Guard string    `json:"guard"`
	State string    `json:"state"`
	Fence uint64    `json:"fence"`
	Began time.Time `json:"began"`
	TTL   int64     `json:"ttl_ms"`
	Kept  *keptJSON `json:"kept,omitempty"` // in get only
}

// keptJSON is what is kept of a result, and not the result: that may be somebody's
// secret.
type keptJSON struct {
	Holds  string `json:"holds"`
	Bytes  int    `json:"bytes"`
	Sealed bool   `json:"sealed"`
}

// decisionJSON is what key resolve and key expire write.
type decisionJSON struct {
	Claim   claimJSON `json:"claim"` // as it was
	Outcome string    `json:"outcome"`
	Reason  string    `json:"reason"`
	By      string    `json:"by"`
	DryRun  bool      `json:"dry_run"`
}

func claimOf(r guard.Record) claimJSON {
	c := claimJSON{Key: r.Key, Guard: r.Guard, State: r.State.String(), Fence: r.Fence, Began: r.Began, TTL: r.Left.Milliseconds()}
	if r.Kept != nil {
		c.Kept = &keptJSON{r.Kept.Holds, r.Kept.Bytes, r.Kept.Sealed}
	}
	return c
}

func (c claimJSON) left() time.Duration { return time.Duration(c.TTL) * time.Millisecond }

// began is when the claim was granted, for people here.
func (c claimJSON) began() string { return c.Began.Local().Format(time.DateTime) }
