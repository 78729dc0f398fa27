// Package database tests guards in transactions of PostgreSQL and MySQL, with processes
// that are killed. It contains tests only.
package database
