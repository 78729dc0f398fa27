// Package enginetest is the test that every Interlock engine passes: the laws,
// as sentences, and [Faulty], the engine that fails on purpose.
package enginetest
