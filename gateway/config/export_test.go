package config

// A Row is a field in a table of docs/config.md.
type Row struct{ Section, Name, About, Default string }

// Rows returns all fields, with the heading of their table.
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
	all = append(all, rowsOf("log", logShape)...)
	all = append(all, rowsOf("log components", componentsShape)...)
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

// Presets returns the names of the built-in presets.
func Presets() []string { return sorted(builtins) }

// Codes are all codes.
var Codes = []Code{Syntax, Unsupported, UnknownField, Duplicate, WrongType, Missing, BadValue, Conflict, BadOption, BadKey, Unset}

// Options returns the names of a policy's options.
func Options() (names []string) {
	for _, f := range policyFields() {
		names = append(names, f.name)
	}
	return names
}

// Watcher returns the function that Watch calls when a file has stopped changing.
func Watcher(path string, loaded []byte, changed func(*Config, error)) (check func()) {
	return (&watcher{path: path, changed: changed, content: loaded}).check
}
