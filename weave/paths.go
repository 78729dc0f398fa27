package weave

import "bytes"

// The packages of woven code.
const (
	Module  = "github.com/interlock-go/interlock" // required by modules with directives
	Runtime = Module + "/woven"                   // called by woven code
	Marker  = Module + "/on"                      // imported by files with directives
)

// prefix is the start of a directive, after the slashes.
const prefix = "interlock:"

// candidate reports whether a file is worth parsing.
func candidate(text []byte) bool {
	return bytes.Contains(text, []byte(prefix[1:])) || bytes.Contains(text, []byte(Marker)) // prefix[1:] also finds //Interlock:, a mistake to report
}
