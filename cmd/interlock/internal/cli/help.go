package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// help prints the help of a command. Cobra's own help exists in English only.
func (p *program) help(c *cobra.Command) {
	var b strings.Builder
	about := c.Long
	if about == "" {
		about = c.Short
	}
	fmt.Fprintf(&b, "%s\n\n%s\n", about, p.say(i18n.Usage))
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n\n%s\n", c.CommandPath(), p.say(i18n.Commands))
		// Command names are ASCII, so bytes are columns.
		width := 0
		for _, sub := range c.Commands() {
			width = max(width, len(sub.Name()))
		}
		for _, sub := range c.Commands() {
			if offered(sub) {
				fmt.Fprintf(&b, "  %-*s %s\n", width, sub.Name(), sub.Short)
			}
		}
	} else {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.Example != "" {
		fmt.Fprintf(&b, "\n%s\n%s\n", p.say(i18n.Examples), c.Example)
	}
	fmt.Fprintf(&b, "\n%s\n", p.say(i18n.Flags))
	// The command's own flags come first; the global ones are the same everywhere.
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { p.flag(&b, f) })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { p.flag(&b, f) })
	codes := i18n.ExitCodes
	// Doctor never acquires a lock, so it cannot fail with codes 3 and 4.
	if c.Name() == "doctor" {
		codes = i18n.DoctorCodes
	}
	fmt.Fprintf(&b, "\n%s\n", p.say(codes))
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "%s\n", p.say(i18n.More))
	}
	fmt.Fprint(c.OutOrStdout(), b.String())
}

// offered reports whether help lists a command. IsAvailableCommand excludes help itself.
func offered(c *cobra.Command) bool { return c.IsAvailableCommand() || c.Name() == "help" }

// values are the placeholders that help shows for the values of flags.
var values = map[string]string{
	"color": "WHEN", "lease": "TIME", "hold": "TIME", "key": "KEY", "lang": "CODE", "n": "N", "engine": "URL",
	"primary": "URL", "standby": "URL", "to": "SIDE",
	"output": "FORMAT", "wait": "TIME", "max-hold": "TIME", "grace": "TIME", "kind": "KIND", "limit": "N", "reason": "TEXT",
	"state": "STATE", "guard": "NAME", "namespace": "NAME", "user": "USER", "route": "ROUTE", "header": "FIELD", "outcome": "OUTCOME", "result": "JSON", "response": "JSON", "error": "TEXT", "url": "URL", "method": "METHOD", "body": "TEXT",
	"idempotency-key": "KEY", "timeout": "TIME", "threshold": "LIST",
	"for": "TIME", "listen": "ADDR", "admin": "ADDR", "health": "ADDR", "metrics": "ADDR", "config": "FILE", "rules": "FILE", "once": "RULE", "principal": "USER", "trust": "CIDR", "log": "FORMAT", "webhook-file": "FILE", "secret-file": "FILE",
}

// valueAnnotation overrides values for a flag whose name means something else elsewhere.
const valueAnnotation = "value"

// valueOf returns the placeholder of a flag's value, or "" for a switch.
func valueOf(f *pflag.Flag) string {
	if annotated := f.Annotations[valueAnnotation]; len(annotated) > 0 {
		return annotated[0]
	}
	return values[f.Name]
}

// flag writes the line of one flag.
func (p *program) flag(b *strings.Builder, f *pflag.Flag) {
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	if value := valueOf(f); value != "" {
		name += " " + value
	}
	fmt.Fprintf(b, "  %-22s %s", name, f.Usage)
	// A switch is off by default. Some flags clear DefValue where a zero means "not set".
	if f.DefValue != "" && f.Value.Type() != "bool" {
		b.WriteString(p.say(i18n.Default, f.DefValue))
	}
	b.WriteByte('\n')
}

// helpCommand is "interlock help COMMAND", with the same output as COMMAND --help.
func (p *program) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: p.say(i18n.AboutHelp),

		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, _ := root.Find(args) // root takes any arguments, so Find cannot fail
			if len(rest) > 0 {
				return p.unknownCommand(found, rest[0])
			}
			p.help(found)
			return nil
		},
	}
}
