package cli

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/gateway/admin"
)

// lockList is the JSON of lock ls. It has the fields of the admin API, but no cursor.
type lockList struct {
	Locks []admin.Lock `json:"locks"`
	More  bool         `json:"more"` // --limit cut the list
}

// claimList is the JSON of key ls.
type claimList struct {
	Claims []admin.Claim `json:"claims"`
	More   bool          `json:"more"` // --limit cut the list
}

// releaseJSON is the JSON of lock release.
type releaseJSON struct {
	Lock   admin.LockDetail `json:"lock"` // before the release
	Reason string           `json:"reason"`
	By     string           `json:"by"`
	DryRun bool             `json:"dry_run"`
}

// decisionJSON is the JSON of key resolve and key expire.
type decisionJSON struct {
	Claim   admin.Claim `json:"claim"` // before the change
	Outcome string      `json:"outcome"`
	Reason  string      `json:"reason"`
	By      string      `json:"by"`
	DryRun  bool        `json:"dry_run"`
}

// waiting returns how many callers wait for a lock, as far as the engine knows. A caller
// in the queue may be counted as a listener, too.
func waiting(l admin.Lock) int { return max(l.Waiters, l.Listeners) }

// holderName names a holder by its program and host, or by its owner hash if the engine
// does not know the program. The result is not sanitized.
func holderName(owner string, c *admin.Program) string {
	if c == nil {
		return owner
	}
	return fmt.Sprintf("%s@%s/%d", c.Name, c.Host, c.PID)
}

// millis converts milliseconds to a duration.
func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// began returns when a claim was granted, in local time.
func began(c admin.Claim) string { return c.Began.Local().Format(time.DateTime) }
