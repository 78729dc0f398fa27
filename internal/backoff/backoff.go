// Package backoff computes the pauses between retries.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Pause returns the pause after the given number of tries, counted from 1. It
// starts at shortest, doubles up to longest, and has jitter; see [Jitter].
func Pause(shortest, longest time.Duration, tries int) time.Duration {
	return Jitter(exponential(shortest, longest, tries))
}

// Full is like Pause with full jitter: anything from zero to the whole pause. Use
// it for many processes that begin to wait at the same time.
func Full(shortest, longest time.Duration, tries int) time.Duration {
	return rand.N(exponential(shortest, longest, tries) + 1)
}

func exponential(shortest, longest time.Duration, tries int) time.Duration {
	if tries < 32 && shortest<<(tries-1) < longest && shortest<<(tries-1) > 0 {
		return shortest << (tries - 1)
	}
	return longest
}

// Jitter shortens d by up to a quarter at random, so that callers that began to
// wait together do not retry together.
func Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d - rand.N(d/4+1)
}
