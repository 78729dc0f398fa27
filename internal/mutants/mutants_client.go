package main

// clientMutants are bugs in the root package. The laws that must notice are the
// subtests of its TestLaws.
var clientMutants = []mutant{}
