package redisengine

import (
	"context"
	"strings"
)

// readPermissions finds the commands of the scripts that the user may not run, and the
// channels of clients. Permissions for keys and channels of locks are not checked.
func (p *nodeProbe) readPermissions(ctx context.Context) {
	p.query(ctx, "EVALSHA", strings.Repeat("0", 40), "0") // an unknown script
	// With these arguments WAIT returns at once.
	p.query(ctx, "WAIT", "0", "0")
	denied, ok := p.query(ctx, "EVAL", probeScript.Text, "0")
	if !ok {
		return
	}
	for _, command := range stringList(denied) {
		p.deny(command)
	}
}
