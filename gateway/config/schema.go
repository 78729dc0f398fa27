package config

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema returns the JSON Schema (2020-12) of a file, for editors: it knows which
// fields there are and what they look like. [Parse] knows, besides, what goes
// together.
func Schema() []byte {
	s := fileShape().schemaOf()
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Interlock gateway"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // it is made of our own tables
	}
	return append(text, '\n')
}

// ruleSchema says, besides which fields a rule has, that it does one thing.
func ruleSchema() *jsonschema.Schema {
	s := ruleShape().schemaOf()
	for _, verb := range []string{"lock", "once", "submit"} {
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{verb}})
	}
	return s
}
