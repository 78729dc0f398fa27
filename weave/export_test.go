package weave

// Stamped is for tests: no toolchain here is under development.
var Stamped = stamped
