package config

import _ "embed"

//go:embed starter.yaml
var starter string

// Init returns a file to begin with: it guards two routes of a service on this
// machine, and says what else there is.
func Init() string { return starter }
