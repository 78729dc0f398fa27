package main

// redisMutants are bugs in engine/redisengine, in Go and in lua/*.lua. The laws
// that must notice are the subtests of its TestLaws, which need a server.
var redisMutants = []mutant{}
