// Package leader tests the election of leaders on every engine, and with processes that are
// killed while they lead. It contains tests only.
package leader
