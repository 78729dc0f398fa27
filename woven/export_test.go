package woven

// Ends is for tests: it is about packages that cannot be in this repository.
var Ends = ends
