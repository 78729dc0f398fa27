//go:build race

package redisengine_test

// raceEnabled says that allocations cannot be counted: with the race detector on,
// sync.Pool loses things on purpose.
const raceEnabled = true
