package redisengine

import (
	"context"
	"strings"
)

// probeScript tries what the other scripts use.
var probeScript = script("probe")

// askPermissions finds out which of the commands that locks need our user may not
// use. Whether it may use the keys and channels of a lock shows with the lock.
func (c *checkup) askPermissions(ctx context.Context) {
	c.ask(ctx, "EVALSHA", strings.Repeat("0", 40), "0") // no script has that name
	c.ask(ctx, "WAIT", "0", "0")
	denied, ok := c.ask(ctx, "EVAL", probeScript.Text, "0")
	if !ok {
		return
	}
	for _, command := range texts(denied) {
		c.deny(command)
	}
}
