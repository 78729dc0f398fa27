//go:build !race

package redisengine_test

const raceEnabled = false
