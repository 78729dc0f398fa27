// Package weaving holds what is tested of weaving with the go command itself: the
// ways to build, on the kinds of trees there are, what is compiled again and what
// is not, and a module in which every function has a directive. It is never
// imported; a command with the few verbs that it needs is in interlock.
package weaving
