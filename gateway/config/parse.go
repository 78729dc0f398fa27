package config

import (
	"os"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Parse parses the content of a file; the file's name is for messages. It returns all
// mistakes, and a Config only if there are none.
//
// Parse replaces ${NAME} from the environment in the fields "engine", "to", "listen" and
// "metrics", and in "file" of a secret or token. An unset or empty variable is a mistake. Anchors,
// aliases, merge keys, tags and several documents are refused, so that a rule can be read
// where it stands. Use presets for what rules share.
func Parse(file string, content []byte) (*Config, Errors) {
	return newReader(file, content).config(content)
}

// Warnings returns the settings of the file that are valid but probably a mistake. The
// hint of each says what to write instead.
func (c *Config) Warnings() Errors { return c.warnings }

// Load reads and parses a file.
func Load(path string) (*Config, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, errs := Parse(path, content)
	return c, errs.Err()
}

// config reads the whole file, and then checks how its parts fit together.
func (r *reader) config(content []byte) (*Config, Errors) {
	root := r.parseTree(content)
	if root == nil {
		return nil, r.errs.sort()
	}
	c := Default()
	c.File = r.file
	fileShape().read(r, c, root)
	// The order matters: rules use presets, and checkFile compares sections with rules.
	if root.kind == mapping {
		r.readPresets()
		r.rules(c)
		r.checkFile(c, root)
	}
	// Half a configuration would leave routes unguarded, so any mistake refuses all of
	// it.
	if len(r.errs) > 0 {
		return nil, r.errs.sort()
	}
	c.origins, c.warnings = r.origins, r.warned.sort()
	return c, nil
}

// rulesField only remembers the list. Rules depend on presets and on the file's
// principal, which may follow them, so they are read last.
func rulesField() field[Config] {
	return field[Config]{
		name: "rules", description: "Locks and guards for requests; the first rule that matches applies. [] guards nothing.",
		read: func(r *reader, _ *Config, n *node) {
			if n.kind != list {
				r.wrongType(n, "rules", "be a list", "write - match: POST /orders on a line of its own, or rules: [] to guard nothing")
				return
			}
			r.ruleList = n
		},
		print: func(c *Config) *node {
			fields, l := ruleShape(), &node{kind: list, flow: len(c.Rules) == 0}
			for _, r := range c.Rules {
				d := &ruleDraft{Rule: r}
				// The reader has copied the file's principal into the rule; Print writes
				// it once.
				if reflect.DeepEqual(d.Principal, c.Principal) {
					d.Principal = Principal{}
				}
				n := fields.print(d)
				if r.Preset != "" {
					// The comment is behind match, the first field of every rule.
					n.pairs[0].value.comment = "preset " + r.Preset
				}
				l.items = append(l.items, n)
			}
			return l
		},
		schema: func() *jsonschema.Schema { return &jsonschema.Schema{Type: "array", Items: ruleSchema()} },
	}
}

// presetsField remembers the file's own presets until the rules are read.
func presetsField() field[Config] {
	return field[Config]{
		name: "presets", description: "The file's own policies, by name, with the fields of a policy. With preset: NAME, a policy builds on that one.",
		read: func(r *reader, _ *Config, n *node) {
			if n.kind != mapping {
				r.wrongType(n, "presets", "have fields", "write a name and, below it, the fields of a policy")
				return
			}
			r.presetMap = n
		},
		print: func(*Config) *node { return nil }, // rules are printed with their presets applied
		schema: func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "object", AdditionalProperties: presetShape().schemaOf()}
		},
	}
}
