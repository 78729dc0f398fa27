//go:build race

package redisengine_test

// raceEnabled means that allocations cannot be counted: under the race detector,
// sync.Pool drops items at random.
const raceEnabled = true
