// Package quorum tests the quorum engine on five real servers. It contains tests only.
package quorum
