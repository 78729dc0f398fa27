package weave

// Stamped is for tests, because they cannot run a development version of Go.
var Stamped = stamped

// Words is for tests, because words gets its input from GOFLAGS.
var Words = words
