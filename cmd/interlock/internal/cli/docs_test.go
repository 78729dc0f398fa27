package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

var update = flag.Bool("update", false, "update the reference in docs/cli.md")

// reference marks the start of the generated part of the page.
const reference = "<!-- from the code: go test ./cmd/interlock/internal/cli -update -->\n"

// The page documents every command and flag with the texts of --help.
func TestDocsMatchHelp(t *testing.T) {
	for name, l := range map[string]i18n.Language{"cli.md": i18n.English, "cli.zh-CN.md": i18n.Chinese} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("..", "..", "..", "..", "docs", name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			before, got, found := strings.Cut(string(text), reference)
			if !found {
				t.Fatalf("%s does not contain the line %s", name, reference)
			}
			want := page(l)
			if *update {
				if err := os.WriteFile(path, []byte(before+reference+want), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("docs/%s is out of date; run go test ./cmd/interlock/internal/cli -update", name)
			}
			for _, code := range []int{exitOK, exitError, exitUsage, exitNotAcquired, exitLost, exitUnreachable, exitVerdict, exitInterrupted, exitNotFound, exitNotStarted} {
				if !strings.Contains(before, fmt.Sprintf("| %d |", code)) {
					t.Errorf("docs/%s does not explain exit code %d", name, code)
				}
			}
		})
	}
}

// Help shows a placeholder for every flag that takes a value, and no empty default.
func TestHelpShowsTheValuesOfFlags(t *testing.T) {
	p := &program{stdout: os.Stdout, stderr: os.Stderr, getenv: func(string) string { return "" }}
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if takesNone := f.Value.Type() == "bool"; takesNone != (valueOf(f) == "") {
				t.Errorf("%s --%s takes a %s, but help shows %q", c.CommandPath(), f.Name, f.Value.Type(), valueOf(f))
			}
			if f.DefValue == "0s" || f.DefValue == "[]" {
				t.Errorf("%s --%s shows the empty default %s", c.CommandPath(), f.Name, f.DefValue)
			}
		})
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(p.root())
}

// page returns the reference of all commands.
func page(l i18n.Language) string {
	p := &program{stdout: os.Stdout, stderr: os.Stderr, getenv: func(string) string { return "" }, lang: l}
	var b strings.Builder
	p.section(&b, p.root())
	return b.String()
}

// section writes the reference of a command and its subcommands.
func (p *program) section(b *strings.Builder, c *cobra.Command) {
	if c.HasParent() {
		about := c.Long
		if about == "" {
			about = c.Short
		}
		fmt.Fprintf(b, "\n### %s\n\n%s\n", c.CommandPath(), about)
		if c.Runnable() && !c.HasAvailableSubCommands() {
			fmt.Fprintf(b, "\n```\n%s\n```\n", c.UseLine())
		}
		p.flagTable(b, c.LocalNonPersistentFlags())
	} else {
		p.flagTable(b, c.PersistentFlags())
	}
	for _, sub := range c.Commands() {
		if offered(sub) && sub.Name() != "help" {
			p.section(b, sub)
		}
	}
}

func (p *program) flagTable(b *strings.Builder, flags *pflag.FlagSet) {
	rows := 0
	cell := strings.NewReplacer("|", "\\|", "<", "&lt;")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		if rows++; rows == 1 {
			fmt.Fprintf(b, "\n| %s | |\n|---|---|\n", strings.TrimRight(p.say(i18n.Flags), ":："))
		}
		name := "`--" + f.Name
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + ", --" + f.Name
		}
		if value := valueOf(f); value != "" {
			name += " " + value
		}
		text := cell.Replace(f.Usage)
		if f.DefValue != "" && f.Value.Type() != "bool" {
			text += cell.Replace(p.say(i18n.Default, f.DefValue))
		}
		fmt.Fprintf(b, "| %s` | %s |\n", name, text)
	})
}
