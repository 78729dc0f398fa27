package cli

import (
	"time"

	"github.com/interlock-go/interlock/gateway/admin"
)

// claimList is what key ls writes for programs, as the admin API does; but a command
// line has no cursor.
type claimList struct {
	Claims []admin.Claim `json:"claims"`
	More   bool          `json:"more"` // there are more than --limit
}

// decisionJSON is what key resolve and key expire write.
type decisionJSON struct {
	Claim   admin.Claim `json:"claim"` // as it was
	Outcome string      `json:"outcome"`
	Reason  string      `json:"reason"`
	By      string      `json:"by"`
	DryRun  bool        `json:"dry_run"`
}

// began is when a claim was granted, for people here.
func began(c admin.Claim) string { return c.Began.Local().Format(time.DateTime) }
