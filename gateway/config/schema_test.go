package config_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/gateway/config"
)

const schemaFile = "schema.json"

func TestSchemaIsCommitted(t *testing.T) {
	got := config.Schema()
	if *update {
		if err := os.WriteFile(schemaFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil || string(got) != string(want) {
		t.Errorf("schema.json is out of date (%v): run go test -run TestSchema -update", err)
	}
}

// valid returns an error if a file does not conform to the schema.
func valid(t *testing.T, s *jsonschema.Resolved, text string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	raw, err := json.Marshal(v) // the schema expects numbers as in JSON
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	return s.Validate(v)
}

func TestSchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(config.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range validFiles {
		if err := valid(t, resolved, text); err != nil {
			t.Errorf("file %d has no mistakes, but the schema says %v", i, err)
		}
		if printed := mustParse(t, text).Print(false); valid(t, resolved, string(printed)) != nil {
			t.Errorf("file %d as printed does not conform to the schema:\n%s", i, printed)
		}
	}
	_, all := readMistakes(t)
	structural, caught := 0, 0
	for _, w := range all {
		_, errs := parseMessages(w.text)
		if !slices.ContainsFunc(errs, func(m *config.ParseError) bool {
			return m.Code == config.UnknownField || m.Code == config.WrongType || m.Code == config.Missing
		}) {
			continue
		}
		structural++
		if valid(t, resolved, w.text) != nil {
			caught++
		} else {
			t.Logf("the schema accepts the file %q", w.title)
		}
	}
	if structural < 30 || caught*10 < structural*8 {
		t.Errorf("the schema finds %d of %d structural mistakes, want at least 80 %%", caught, structural)
	}
	t.Logf("the schema finds %d of %d mistakes in structure", caught, structural)
}
