package guard

import "time"

// StepWall sets the guard's wall clock ahead, as after the machine slept.
func (g *Guard[T]) StepWall(d time.Duration) { g.now.Step(d) }
