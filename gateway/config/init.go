package config

import _ "embed"

//go:embed starter.yaml
var starter string

// Init returns a file to begin with. It guards three routes of a service on this machine,
// and explains the other settings in comments.
func Init() string { return starter }
