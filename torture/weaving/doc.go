// Package weaving tests weaving with the go command: all build modes on all kinds of
// projects, what is recompiled after a change, a module in which every function has a
// directive, and a gin service in several processes. It contains tests only. Directory
// interlock has a small command for them.
package weaving
