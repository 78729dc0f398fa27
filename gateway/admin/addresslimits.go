package admin

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	maxAddresses = 1024 // addresses in memory
	perSecond    = 200  // requests from one address
	burst        = 1000 // requests from one address at once

	freeFailures  = 5           // wrong tokens without a penalty
	firstPause    = time.Second // doubles with each further wrong token
	longestPause  = time.Minute
	failureMemory = 10 * time.Minute // after which wrong tokens are forgotten
)

// addressLimits bound the requests and the wrong tokens of each client address. They
// remember a fixed number of addresses, and evict the least recently seen.
type addressLimits struct {
	// mu guards the map and the state of every address in it.
	mu  sync.Mutex
	all map[string]*addressLimit
}

// An addressLimit is the state of one address.
type addressLimit struct {
	limiter      *rate.Limiter
	seen         time.Time // time of the last request
	failures     int       // wrong tokens in the last failureMemory
	failed       time.Time // time of the last wrong token
	blockedUntil time.Time // because of wrong tokens
}

// newAddressLimits starts empty: blocks do not survive a restart of the process.
func newAddressLimits() *addressLimits { return &addressLimits{all: make(map[string]*addressLimit)} }

// allow counts a request, and returns a problem if there were too many.
func (l *addressLimits) allow(address string) *Problem {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.get(address)
	if x.limiter.Allow() {
		return nil
	}
	return problem(TooMany, "%[2]s sent more than %[1]d requests in a second: slow down", perSecond, address).after(time.Second)
}

// checkBlocked returns a problem if the address has sent too many wrong tokens.
func (l *addressLimits) checkBlocked(address string) *Problem {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A session cookie is not checked here: a block must not lock out users who are
	// signed in.
	if left := time.Until(l.get(address).blockedUntil); left > 0 {
		return problem(TooMany, "%s sent too many wrong tokens: wait", address).after(left)
	}
	return nil
}

// addFailure counts a wrong token, and blocks the address after too many.
func (l *addressLimits) addFailure(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x, now := l.get(address), time.Now()
	// Old failures are forgotten, so that single mistakes over weeks do not add up to a block.
	if now.Sub(x.failed) > failureMemory {
		x.failures = 0
	}
	x.failures++
	x.failed = now
	if over := x.failures - freeFailures; over > 0 {
		// The inner bound keeps the shift from overflowing; 2^10 seconds exceed
		// longestPause.
		x.blockedUntil = now.Add(min(firstPause<<min(over-1, 10), longestPause))
	}
}

// get returns the limits of an address. An IPv6 /64 network counts as one address,
// because one client owns all of it. The caller holds the mutex.
func (l *addressLimits) get(address string) *addressLimit {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			address = network.String()
		}
	}
	x := l.all[address]
	if x == nil {
		if len(l.all) >= maxAddresses {
			l.evict()
		}
		x = &addressLimit{limiter: rate.NewLimiter(perSecond, burst)}
		l.all[address] = x
	}
	x.seen = time.Now()
	return x
}

// evict removes the least recently seen address. It prefers addresses that are not
// blocked, so that a flood of addresses does not lift a block.
func (l *addressLimits) evict() {
	var victimAddress string
	var victim *addressLimit
	now := time.Now()
	// The scan is bounded by maxAddresses, and runs only for a new address.
	for address, x := range l.all {
		blocked, victimBlocked := x.blockedUntil.After(now), victim != nil && victim.blockedUntil.After(now)
		if victim == nil || victimBlocked && !blocked || victimBlocked == blocked && x.seen.Before(victim.seen) {
			victimAddress, victim = address, x
		}
	}
	delete(l.all, victimAddress)
}
