// Package backoff says how long to pause before asking again.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Pause returns how long to pause after the given number of vain tries, counted
// from 1: it starts at least, doubles, ends at most, and is shortened by up to a
// quarter at random.
func Pause(least, most time.Duration, tries int) time.Duration {
	return Jitter(ceiling(least, most, tries))
}

// Full is like Pause, but anything from nothing to the whole of it: for those who
// come from many processes, and fell asleep for the same reason.
func Full(least, most time.Duration, tries int) time.Duration {
	return rand.N(ceiling(least, most, tries) + 1)
}

func ceiling(least, most time.Duration, tries int) time.Duration {
	if tries < 32 && least<<(tries-1) < most && least<<(tries-1) > 0 {
		return least << (tries - 1)
	}
	return most
}

// Jitter shortens d by up to a quarter, so that those who fell asleep together
// do not wake together.
func Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d - rand.N(d/4+1)
}
