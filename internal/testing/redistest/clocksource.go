package redistest

// ClockSource returns the C source of the library that moves the wall clock of a process;
// see [SteppedClock]. Tests of other servers build it, too.
func ClockSource() string { return clockSource }
