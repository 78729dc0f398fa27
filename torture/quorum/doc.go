// Package quorum holds what is tested of five real servers made one. It is never
// imported.
package quorum
