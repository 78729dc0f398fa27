package redisengine

import (
	"context"
	"strings"
)

// askPermissions finds out which of the commands that locks need our user may not
// use. Whether it may use the keys and channels of a lock shows with the lock.
func (c *nodeProbe) readPermissions(ctx context.Context) {
	c.query(ctx, "EVALSHA", strings.Repeat("0", 40), "0") // no script has that name
	c.query(ctx, "WAIT", "0", "0")
	denied, ok := c.query(ctx, "EVAL", probeScript.Text, "0")
	if !ok {
		return
	}
	for _, command := range stringList(denied) {
		c.deny(command)
	}
}
