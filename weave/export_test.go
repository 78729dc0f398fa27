package weave

// Stamped is for tests: no toolchain here is under development.
var Stamped = stamped

// Words is for tests: what it is given comes from the environment.
var Words = words
