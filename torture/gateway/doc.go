// Package gateway has no code but tests: the gateway as a process, under load, and
// killed at its work.
package gateway
