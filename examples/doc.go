// Package examples is a collection of programs. The comment of each program says how to start
// it, which commands to try, and what they print; the tests run them and compare.
package examples
