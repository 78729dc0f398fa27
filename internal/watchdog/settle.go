package watchdog

import (
	"time"

	"github.com/interlock-go/interlock/internal/detach"
)

// Settle lets the given terms count for wards from now on.
func (w *Watchdog) Settle(wards []Ward, t Terms) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for _, x := range wards {
		l := x.Watched()
		if l.index < 0 {
			continue // lost meanwhile, which it knows
		}
		l.terms, l.begun = t, l.clock.mono(now)
		if t.Explicit {
			l.renew = never
		}
		w.reorder(l, now)
	}
	w.arm()
}

// Older returns those of some wards whose lease was last asked for more than one
// of so many parts of it ago.
func (w *Watchdog) Older(wards []Ward, parts time.Duration) (old []Ward) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range wards {
		if l := x.Watched(); time.Since(l.sent) > l.life/parts {
			old = append(old, x)
		}
	}
	return old
}

// Renew renews wards at once, whatever is due, and waits for what comes of it. It
// takes two seconds at most.
func (w *Watchdog) Renew(wards []Ward) { w.renew(wards, detach.Detached) }
