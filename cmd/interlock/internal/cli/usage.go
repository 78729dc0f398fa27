package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// A usageError reports a mistake on the command line, with hints.
type usageError struct {
	text  string // in the user's language
	hints []string
}

// Error implements error.
func (e *usageError) Error() string { return e.text }

// misuse returns a usageError. The argument meant is a suggestion, or "".
func (p *program) misuse(c *cobra.Command, text, meant string) error {
	var hints []string
	if meant != "" {
		hints = append(hints, p.say(i18n.DidYouMean, meant))
	}
	return &usageError{text, append(hints, p.say(i18n.SeeHelp, c.CommandPath()))}
}

// unknownCommand suggests a synonym from another tool first, and then a similar name.
func (p *program) unknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		if slices.Contains(sub.SuggestFor, name) { // a synonym
			return p.misuse(c, p.say(i18n.UnknownCommand, name), sub.Name())
		}
		if offered(sub) {
			names = append(names, sub.Name())
		}
	}
	return p.misuse(c, p.say(i18n.UnknownCommand, name), nearest(name, names))
}

// badValue reports the invalid value of a flag and the allowed ones.
func (p *program) badValue(c *cobra.Command, flag, value, want string) error {
	return p.misuse(c, p.say(i18n.BadValue, flag, value, want), "")
}

// noArgs allows no arguments.
func (p *program) noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return p.misuse(c, p.say(i18n.ExtraArgument, args[0]), "")
	}
	return nil
}

// flagError translates an error of pflag into the user's language. Pflag has typed errors
// for the common mistakes; the others stay in English.
func (p *program) flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var lacking *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return p.unknownFlag(c, unknown)
	case errors.As(err, &lacking):
		return p.misuse(c, p.say(i18n.NeedsValue, lacking.GetFlag().Name), "")
	case errors.As(err, &bad):
		return p.badValue(c, bad.GetFlag().Name, bad.GetValue(), p.kind(bad.GetFlag()))
	}
	return p.misuse(c, err.Error(), "")
}

// unknownFlag suggests a similar flag, or a command of that name.
func (p *program) unknownFlag(c *cobra.Command, err *pflag.NotExistError) error {
	name := err.GetSpecifiedName()
	if err.GetSpecifiedShortnames() != "" {
		// pflag reports the first letter only, but -hold is likely meant as --hold
		return p.misuse(c, p.say(i18n.UnknownFlag, "-"+name), p.nearestFlag(c, err.GetSpecifiedShortnames()))
	}
	meant := p.nearestFlag(c, name)
	if sub, _, err := c.Root().Find([]string{name}); err == nil && sub.Name() == name { // --version
		meant = sub.CommandPath()
	}
	return p.misuse(c, p.say(i18n.UnknownFlag, "--"+name), meant)
}

// nearestFlag returns the flag of c with the most similar name, or "". The typed name may
// still have its =value.
func (p *program) nearestFlag(c *cobra.Command, name string) string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	name, _, _ = strings.Cut(name, "=")
	if best := nearest(name, names); best != "" {
		return "--" + best
	}
	return ""
}

// kind describes the values of a flag.
func (p *program) kind(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int":
		return p.say(i18n.ANumber)
	case "duration":
		return p.say(i18n.ADuration)
	}
	return p.say(i18n.AValue)
}

// nearest returns the name that is most similar to typed, or "" if none is similar.
func nearest(typed string, names []string) string {
	best, least := "", 3 // more than two edits make another word
	for _, name := range names {
		d := distance(typed, name)
		if strings.HasPrefix(name, typed) && typed != "" {
			d = 1 // an abbreviation is more likely than a typo
		}
		// Without the second condition, -n would resemble every short word.
		if d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}

// distance returns the Levenshtein distance of a and b, in bytes. It keeps one row of the
// table: row[j] is the distance of a[:i] and b[:j].
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// between describes a range of values.
func (p *program) between(least, most any) string {
	return p.say(i18n.FromTo, fmt.Sprint(least), fmt.Sprint(most))
}
