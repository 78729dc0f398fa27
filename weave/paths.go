package weave

import "bytes"

// The packages that woven code and its source have to do with.
const (
	Module  = "github.com/interlock-go/interlock" // whoever has directives requires it
	Runtime = Module + "/woven"                   // what woven code calls
	Marker  = Module + "/on"                      // what a file with directives imports
)

// prefix is how a directive begins, behind the slashes.
const prefix = "interlock:"

// candidate reports whether a file is worth parsing.
func candidate(text []byte) bool {
	return bytes.Contains(text, []byte(prefix[1:])) || bytes.Contains(text, []byte(Marker)) // with a capital it is a mistake
}
