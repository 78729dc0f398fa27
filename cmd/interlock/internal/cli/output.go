package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
)

// The values of -o.
const (
	asTable = "table"
	asJSON  = "json"
)

// outputFlag adds --output.
func (p *program) outputFlag(c *cobra.Command, to *string) {
	c.Flags().StringVarP(to, "output", "o", asTable, p.say(i18n.FlagOutput))
	choices(c, "output", asTable, asJSON)
}

// checkOutput validates --output.
func (p *program) checkOutput(c *cobra.Command, form string) error {
	if form != asTable && form != asJSON {
		return p.badValue(c, "output", form, p.say(i18n.OneOf, asTable+", "+asJSON))
	}
	return nil
}

// json prints a value as JSON. Terminal control characters are escaped; HTML is not.
func (p *program) json(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // keys may contain <, > and &
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := p.stdout.Write(sanitize.JSON(b.Bytes()))
	return err
}

// table prints rows. The first row is the heading.
func (p *program) table(rows [][]string) error {
	lines := sanitize.Table(rows)
	lines[0] = p.colored(p.stdout).Dim(lines[0]) // colored after the alignment: escape sequences have no width
	return p.print(lines)
}

// pairs prints one name and value per line.
func (p *program) pairs(all [][2]string) error {
	// Widths are in columns: a Chinese name has two per character.
	width := 0
	for _, pair := range all {
		width = max(width, i18n.Width(pair[0]))
	}
	var b strings.Builder
	for _, pair := range all {
		fmt.Fprintf(&b, "%s  %s\n", p.colored(p.stdout).Dim(i18n.Pad(pair[0], width)), pair[1])
	}
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}

// printNote prints extra information to stderr, so that stdout contains only data.
func (p *program) printNote(text string) {
	fmt.Fprintln(p.stderr, p.colored(p.stderr).Dim(text))
}
