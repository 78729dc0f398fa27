package guard

import "time"

// StepWall sets the guard's wall clock ahead, as after the machine slept.
func (g *Guard[T]) StepWall(d time.Duration) { g.now.Step(d) }

// Seats returns how many keys the in-process level knows of.
func (g *Guard[T]) Seats() int {
	g.desk.mu.Lock()
	defer g.desk.mu.Unlock()
	return len(g.desk.seats) + len(g.desk.told)
}
