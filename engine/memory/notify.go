package memory

import "github.com/interlock-go/interlock/engine"

// ears are the channels on which waiters listen, by key.
type ears map[string]map[chan struct{}]struct{}

// Notify implements [engine.Notifier].
func (e *Engine) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	key := r.Key
	s, _ := e.enter(key)
	defer s.mu.Unlock()

	ear := make(chan struct{}, 1)
	ear <- struct{}{} // the lock may have become free before
	if s.ears[key] == nil {
		s.ears[key] = make(map[chan struct{}]struct{})
	}
	s.ears[key][ear] = struct{}{}
	return ear, func() { e.deafen(key, ear) }
}

func (e *Engine) deafen(key string, ear chan struct{}) {
	s, _ := e.enter(key)
	defer s.mu.Unlock()
	delete(s.ears[key], ear)
	if len(s.ears[key]) == 0 {
		delete(s.ears, key)
	}
}

// wake tells all who listen for key, and returns how many they are. One who has
// not yet taken the last notice needs no other.
func (x ears) wake(key string) int {
	for ear := range x[key] {
		select {
		case ear <- struct{}{}:
		default:
		}
	}
	return len(x[key])
}
