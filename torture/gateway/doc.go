// Package gateway tests the gateway as a process: under load, and killed while it works.
// It contains tests only.
package gateway
