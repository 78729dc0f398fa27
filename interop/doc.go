// Package interop takes locks by turns with Redisson, the Java library whose
// format package redisengine shares. It has nothing to import: its tests build
// the small Java program in the directory java with Maven, run it beside
// processes of ours on a Redis of their own, and print a table of what they saw.
//
// The tests need java and mvn, and fail without them. Maven keeps
// its downloads in its own repository; the build is removed when the tests end.
package interop
