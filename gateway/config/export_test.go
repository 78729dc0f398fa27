package config

import "os"

// A Row is a field as docs/config.md has it.
type Row struct{ Section, Name, About, Default string }

// Rows returns every field that there is, by the heading under which it is.
func Rows() (all []Row) {
	all = append(all, rowsOf("The file", fileShape())...)
	all = append(all, rowsOf("engine", engineShape)...)
	all = append(all, rowsOf("to", upstreamShape)...)
	all = append(all, rowsOf("tls", tlsShape)...)
	all = append(all, rowsOf("principal", principalShape)...)
	all = append(all, rowsOf("jwt", jwtShape)...)
	all = append(all, rowsOf("secrets", secretShape)...)
	all = append(all, rowsOf("tokens", tokensShape)...)
	all = append(all, rowsOf("limits", limitsShape)...)
	all = append(all, rowsOf("timeouts", timeoutsShape)...)
	all = append(all, rowsOf("shutdown", shutdownShape)...)
	all = append(all, rowsOf("admin", adminShape)...)
	all = append(all, rowsOf("admin tokens", adminTokenShape)...)
	all = append(all, rowsOf("rules", ruleShape())...)
	return append(all, rowsOf("match", matchShape)...)
}

func rowsOf[T any](section string, s shape[T]) (rows []Row) {
	for _, f := range s.fields {
		def := f.defaultText
		if f.required {
			def = "required"
		}
		rows = append(rows, Row{section, f.name, f.description, def})
	}
	return rows
}

// Presets returns the names of the policies that there are without a file's own.
func Presets() []string { return sorted(builtins) }

// Codes are all there are.
var Codes = []Code{Syntax, Unsupported, UnknownField, Duplicate, WrongType, Missing, BadValue, Conflict, BadOption, BadKey, Unset}

// Options returns what a rule and a preset may say of a policy.
func Options() (names []string) {
	for _, f := range policyFields() {
		names = append(names, f.name)
	}
	return names
}

// Sight returns what Watch does when a file has been left alone for a while.
func Sight(path string, changed func(*Config, error)) (look func()) {
	s := &watcher{path: path, changed: changed}
	s.content, s.err = os.ReadFile(path)
	return s.check
}
