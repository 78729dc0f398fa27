package admin

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	maxAddresses = 1024 // that are remembered
	perSecond    = 200  // requests of one address
	burst        = 1000

	freeFailures  = 5                // wrong tokens before anybody has to wait
	firstPause    = time.Second      // doubled with each wrong token after that
	longestPause  = time.Minute      //
	failureMemory = 10 * time.Minute // after the last wrong token
)

// visitors are the addresses that requests came from lately: how many, and how many
// with wrong tokens. There is room for so many; who was not here for longest is
// forgotten first.
type addressLimits struct {
	mu  sync.Mutex
	all map[string]*addressLimit
}

type addressLimit struct {
	limiter      *rate.Limiter
	seen         time.Time
	failures     int
	failed       time.Time // when it last showed a wrong token
	blockedUntil time.Time // it has to wait
}

func newAddressLimits() *addressLimits { return &addressLimits{all: make(map[string]*addressLimit)} }

// visit counts a request, and refuses it if there were too many.
func (v *addressLimits) allow(address string) *Problem {
	v.mu.Lock()
	defer v.mu.Unlock()
	x := v.get(address)
	if x.limiter.Allow() {
		return nil
	}
	return problem(TooMany, "more than %d requests in a second came from %s: slow down", perSecond, address).after(time.Second)
}

// suspect refuses who has shown too many wrong tokens.
func (v *addressLimits) checkBlocked(address string) *Problem {
	v.mu.Lock()
	defer v.mu.Unlock()
	if left := time.Until(v.get(address).blockedUntil); left > 0 {
		return problem(TooMany, "too many wrong tokens came from %s: wait", address).after(left)
	}
	return nil
}

// fail notes a wrong token.
func (v *addressLimits) addFailure(address string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	x, now := v.get(address), time.Now()
	if now.Sub(x.failed) > failureMemory {
		x.failures = 0
	}
	x.failures++
	x.failed = now
	if over := x.failures - freeFailures; over > 0 {
		x.blockedUntil = now.Add(min(firstPause<<min(over-1, 10), longestPause))
	}
}

// succeed notes a right one.
func (v *addressLimits) resetFailures(address string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.get(address).failures = 0
}

// visitor returns the one at an address. Those of one network count as one in IPv6,
// where everybody has more addresses than could be remembered. The mutex is held.
func (v *addressLimits) get(address string) *addressLimit {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			address = network.String()
		}
	}
	x := v.all[address]
	if x == nil {
		if len(v.all) >= maxAddresses {
			v.evict()
		}
		x = &addressLimit{limiter: rate.NewLimiter(perSecond, burst)}
		v.all[address] = x
	}
	x.seen = time.Now()
	return x
}

// forget makes room for one. Who has to wait is kept while there are others.
func (v *addressLimits) evict() {
	var oldest string
	var least *addressLimit
	now := time.Now()
	for address, x := range v.all {
		waits, waited := x.blockedUntil.After(now), least != nil && least.blockedUntil.After(now)
		if least == nil || waited && !waits || waited == waits && x.seen.Before(least.seen) {
			oldest, least = address, x
		}
	}
	delete(v.all, oldest)
}
