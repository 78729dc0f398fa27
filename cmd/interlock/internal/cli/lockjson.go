package cli

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/gateway/admin"
)

// lockList is what lock ls writes for programs, as the admin API does; but a command
// line has no cursor.
type lockList struct {
	Locks []admin.Lock `json:"locks"`
	More  bool         `json:"more"` // there are more than --limit
}

// releaseJSON is what lock release writes.
type releaseJSON struct {
	Lock   admin.LockDetail `json:"lock"` // as it was
	Reason string           `json:"reason"`
	By     string           `json:"by"`
	DryRun bool             `json:"dry_run"`
}

// waiting is how many wait, as far as the engine can tell: who stands in line may
// listen, too.
func waiting(l admin.Lock) int { return max(l.Waiters, l.Listeners) }

// who names a program by where it runs, and one that is not known by its owner. It is
// as it came: show it escaped.
func who(owner string, c *admin.Program) string {
	if c == nil {
		return owner
	}
	return fmt.Sprintf("%s@%s/%d", c.Name, c.Host, c.PID)
}

// millis is a number of them as a duration.
func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
