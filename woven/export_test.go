package woven

// Ends exports ends, because a test needs names from packages outside of this repository.
var Ends = ends
