// Package cli implements the interlock command: its subcommands and flags, its messages
// in two languages, and its exit codes.
package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// Run executes a command line and returns the exit code. The context of every command
// ends with the first SIGINT or SIGTERM.
func Run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the process
	p := &program{
		stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv,
		lang: i18n.Pick(args, os.Getenv),
	}
	root := p.root()
	root.SetArgs(args)
	return p.report(root.ExecuteContext(ctx))
}

// A program is the state that all commands share.
type program struct {
	stdout, stderr *os.File            // files, not writers: colors and widths depend on the terminal
	getenv         func(string) string // tests replace it
	lang           i18n.Language       // set before the command tree is built
	color          string              // the value of --color: auto, always or never
}

// root builds the command tree. It is built at run time, because its texts depend on the
// language.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "interlock",
		Short:         p.say(i18n.About),
		SilenceErrors: true,                // report prints them, in the user's language
		SilenceUsage:  true,                // a usage error prints a hint, not the whole help
		Args:          cobra.ArbitraryArgs, // cobra's own message exists in English only
		RunE:          p.runGroup,
	}
	root.CompletionOptions.DisableDefaultCmd = true // ours has two languages
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { p.help(c) })
	root.SetFlagErrorFunc(p.flagError)
	flags := root.PersistentFlags()
	flags.SortFlags = false // help keeps this order
	flags.StringVar(&p.color, "color", "auto", p.say(i18n.FlagColor))
	flags.String("lang", "", p.say(i18n.FlagLang)) // read by i18n.Pick
	flags.BoolP("help", "h", false, p.say(i18n.FlagHelp))
	root.PersistentPreRunE = p.check
	choices(root, "color", "auto", "always", "never")
	choices(root, "lang", "en", "zh")
	root.AddCommand(p.demo(), p.switchSides(), p.doctor(), p.engines(), p.version())
	root.AddCommand(p.exec(), p.lock(), p.keys(), p.storm(), p.completion())
	root.AddCommand(p.proxy(), p.serve(), p.extProc(), p.alertRelay())
	root.AddCommand(p.config())
	root.AddCommand(p.weaving()...)
	root.SetHelpCommand(p.helpCommand(root))
	return root
}

// runGroup handles a group without a subcommand, or with an unknown one.
func (p *program) runGroup(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return p.unknownCommand(c, args[0])
	}
	p.help(c)
	return nil
}

// check validates the flags of every command. Completion offers the same values, but does
// not enforce them.
func (p *program) check(c *cobra.Command, _ []string) error {
	if code := c.Flag("lang").Value.String(); code != "" {
		if _, ok := i18n.Parse(code); !ok {
			return p.badValue(c, "lang", code, p.say(i18n.OneOf, "en, zh"))
		}
	}
	switch p.color {
	case "auto", "always", "never":
		return nil
	}
	return p.badValue(c, "color", p.color, p.say(i18n.OneOf, "auto, always, never"))
}

// colored decides whether output to f has colors. An explicit --color wins over NO_COLOR
// and TERM=dumb.
func (p *program) colored(f *os.File) chart.Color {
	switch p.color {
	case "always":
		return true
	case "never":
		return false
	}
	return p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb" && chart.Color(terminal(f))
}

// say formats a text in the user's language.
func (p *program) say(t i18n.Text, args ...any) string { return p.lang.Say(t, args...) }
