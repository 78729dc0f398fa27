package guard

import (
	"hash/maphash"
	"time"
)

// StepWall sets the guard's wall clock ahead, as after the machine slept.
func (g *Guard[T]) StepWall(d time.Duration) { g.now.Step(d) }

// Seats returns how many keys the in-process level knows of.
func (g *Guard[T]) Seats() int {
	g.desk.mu.Lock()
	defer g.desk.mu.Unlock()
	return len(g.desk.seats) + len(g.desk.told)
}

// Remembers tells whether there is a timer for what the in-process level is to forget.
func (g *Guard[T]) Remembers() bool {
	g.desk.mu.Lock()
	defer g.desk.mu.Unlock()
	return g.desk.armed
}

// Here returns an envelope that only this process believes.
func Here(key string, what byte, text string) []byte {
	return appendHere(nil, key, content(what), []byte(text))
}

// There returns an envelope that everybody can read.
func There(key string, what byte, text string) []byte {
	return unsealed(key, content(what), []byte(text))
}

// Opened returns what is in an envelope, as a guard with that ring sees it, or with none.
func Opened(r *Ring, key string, envelope []byte) (what byte, text string, err error) {
	c := &core{settings: settings{ring: r}}
	is, b, err := c.open(key, envelope)
	return byte(is), string(b), err
}

// Reseed makes this process another one, until the returned function is called.
func Reseed() (back func()) {
	old := seed
	seed = maphash.MakeSeed()
	return func() { seed = old }
}
