// Package interop tests that Go clients share locks with Redisson, the Java library whose
// Redis format package redisengine can use. It contains tests only. They build the Java
// program in directory java with Maven, run it beside Go processes on the same Redis, and
// print a table of results.
//
// The tests need java and mvn, and fail without them. Maven keeps its downloads in its own
// repository; the build is removed when the tests end.
package interop
