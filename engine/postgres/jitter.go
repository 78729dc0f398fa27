package postgres

import (
	"math/rand/v2"
	"time"
)

// jitter returns a pause between a half and one and a half of d. After a restart of the
// server, the processes must not all connect at once.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }
