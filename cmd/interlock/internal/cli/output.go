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

// What -o may be.
const (
	asTable = "table"
	asJSON  = "json"
)

// outputFlag adds the flag that says in which form data are written.
func (p *program) outputFlag(c *cobra.Command, to *string) {
	c.Flags().StringVarP(to, "output", "o", asTable, p.say(i18n.FlagOutput))
	choices(c, "output", asTable, asJSON)
}

// checkOutput refuses a form that there is not.
func (p *program) checkOutput(c *cobra.Command, form string) error {
	if form != asTable && form != asJSON {
		return p.badValue(c, "output", form, p.say(i18n.OneOf, asTable+", "+asJSON))
	}
	return nil
}

// json writes data exactly as they are. Escapes for web pages would be in the way
// of people who read it; those for terminals are there.
func (p *program) json(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := p.stdout.Write(sanitize.JSON(b.Bytes()))
	return err
}

// table writes rows below their headings.
func (p *program) table(rows [][]string) error {
	lines := sanitize.Table(rows)
	lines[0] = p.paint(p.stdout).Dim(lines[0])
	return p.print(lines)
}

// pairs writes names beside their values, which may be long.
func (p *program) pairs(all [][2]string) error {
	width := 0
	for _, pair := range all {
		width = max(width, i18n.Width(pair[0]))
	}
	var b strings.Builder
	for _, pair := range all {
		fmt.Fprintf(&b, "%s  %s\n", p.paint(p.stdout).Dim(i18n.Pad(pair[0], width)), pair[1])
	}
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}

// remark says something on stderr that nobody has asked for.
func (p *program) remark(text string) {
	fmt.Fprintln(p.stderr, p.paint(p.stderr).Dim(text))
}
