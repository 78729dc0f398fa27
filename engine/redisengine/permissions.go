package redisengine

import (
	"context"
	"strings"
)

// readPermissions finds the script commands and the client channels that the user may not
// use. It does not check the permissions for keys and for the channels of locks.
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
