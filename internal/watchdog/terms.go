package watchdog

import (
	"time"

	"github.com/interlock-go/interlock/internal/detach"
)

// SetTerms applies terms to leases from now on.
func (w *Watchdog) SetTerms(leases []Leased, t Terms) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for _, x := range leases {
		l := x.Watched()
		if l.index < 0 {
			continue // ended meanwhile
		}
		l.terms, l.since = t, l.clock.mono(now)
		if t.Explicit {
			l.renew = never
		}
		w.reorder(l, now)
	}
	w.arm()
}

// Older returns the leases whose last request is older than life/parts.
func (w *Watchdog) Older(leases []Leased, parts time.Duration) (old []Leased) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range leases {
		if l := x.Watched(); time.Since(l.sent) > l.life/parts {
			old = append(old, x)
		}
	}
	return old
}

// Renew renews leases now and waits for the result, 2 seconds at most.
func (w *Watchdog) Renew(leases []Leased) { w.renew(leases, detach.Timeout) }
