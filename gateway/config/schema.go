package config

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema returns the JSON Schema (2020-12) of a file, for editors. It describes the fields
// and their values. Only [Parse] finds settings that contradict each other.
func Schema() []byte {
	s := fileShape().schemaOf()
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Interlock gateway"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // the schema consists of strings and numbers
	}
	return append(text, '\n')
}

// ruleSchema is the schema of a rule, which has exactly one verb.
func ruleSchema() *jsonschema.Schema {
	// In the shape, each verb is optional. reader.verb demands one, and so does OneOf.
	s := ruleShape().schemaOf()
	for _, verb := range []string{"lock", "once", "submit", "limit"} {
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{verb}})
	}
	return s
}
