package guard

import (
	"hash/maphash"
	"time"
)

// StepWall sets the guard's wall clock ahead, as after the machine slept.
func (g *Guard[T]) StepWall(d time.Duration) { g.clock.Step(d) }

// Entries returns how many entries the inflight table has.
func (g *Guard[T]) Entries() int {
	g.inflight.mu.Lock()
	defer g.inflight.mu.Unlock()
	return len(g.inflight.entries) + len(g.inflight.cached)
}

// TimerArmed reports whether the timer that evicts cached answers runs.
func (g *Guard[T]) TimerArmed() bool {
	g.inflight.mu.Lock()
	defer g.inflight.mu.Unlock()
	return g.inflight.armed
}

// LocalEnvelope returns an envelope that only this process can verify.
func LocalEnvelope(key string, what byte, text string) []byte {
	return appendLocal(nil, key, content(what), []byte(text))
}

// PlainEnvelope returns an envelope that is not encrypted.
func PlainEnvelope(key string, what byte, text string) []byte {
	return plainEnvelope(key, content(what), []byte(text))
}

// OpenEnvelope returns the payload of an envelope, for a guard with that ring, which may be
// nil.
func OpenEnvelope(r *Ring, key string, envelope []byte) (what byte, text string, err error) {
	c := &core{settings: settings{ring: r}}
	content, b, err := c.open(key, envelope)
	return byte(content), string(b), err
}

// Reseed changes the checksum seed, as in another process, until the returned function is called.
func Reseed() (back func()) {
	old := seed
	seed = maphash.MakeSeed()
	return func() { seed = old }
}
