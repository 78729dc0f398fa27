package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/weave"
)

// A notWovenError reports a binary without woven directives.
type notWovenError struct{ file string }

// Error implements error.
func (e *notWovenError) Error() string { return "no directives are woven into " + e.file }

// weaving returns the commands for directives. They are siblings of the other commands,
// not a group, to keep "interlock go build" short.
func (p *program) weaving() []*cobra.Command {
	all := []*cobra.Command{
		{Use: "go COMMAND [ARGUMENTS]", Short: p.say(i18n.AboutGo), Long: p.say(i18n.AboutGoLong), RunE: p.goCommand,
			Example: "  interlock go build ./...\n  interlock go test -race -cover ./..."},
		{Use: "overlay [GO FLAGS]", Short: p.say(i18n.AboutOverlay), Long: p.say(i18n.AboutOverlayLong), RunE: p.overlay,
			Example: "  go build -overlay=$(interlock overlay) ./..."},
		{Use: "lint [GO FLAGS] [PACKAGES]", Short: p.say(i18n.AboutLint), Long: p.say(i18n.AboutLintLong), RunE: p.lint,
			Example: "  interlock lint ./...\n  go vet -vettool=$(which interlock) ./..."},
		{Use: "show FILE", Short: p.say(i18n.AboutShow), RunE: p.show},
		{Use: "verify BINARY", Short: p.say(i18n.AboutVerify), RunE: p.verify},
		{Use: "eject FILE...", Short: p.say(i18n.AboutEject), RunE: p.eject},
		{Use: "weave TOOL [ARGUMENTS]", Short: p.say(i18n.AboutWeave), RunE: p.toolexec(weave.Toolexec),
			Example: "  go build -toolexec='interlock weave' ./..."},
		{Use: "cover-shim TOOL [ARGUMENTS]", Short: p.say(i18n.AboutShim), RunE: p.toolexec(weave.CoverShim), Hidden: true},
	}
	for _, c := range all {
		c.DisableFlagsInUseLine = true // Use already lists the flags
		switch c.Name() {
		case "go", "overlay", "lint", "weave", "cover-shim":
			c.DisableFlagParsing = true // the flags belong to the go command
		}
	}
	return all
}

// asksHelp detects --help for commands that do not parse their flags. Only a sole
// argument counts: "interlock go build -h" asks the go command.
func asksHelp(args []string) bool {
	return len(args) == 1 && (args[0] == "-h" || args[0] == "--help")
}

// goCommand runs the go command with weaving. Commands that compile nothing run unchanged.
func (p *program) goCommand(c *cobra.Command, args []string) error {
	if asksHelp(args) {
		p.help(c)
		return nil
	}
	if len(args) == 0 {
		return p.misuse(c, p.say(i18n.GoArgsMissing), "")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// For coverage and for the module cache, the go command calls this binary back.
	argv, err := weave.Go(c.Context(), ".", self, args)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(c.Context(), "go", argv...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, p.stdout, p.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // the go command stops its own children
	return cmd.Run()
}

// overlay is for builds that another tool starts, such as an IDE.
func (p *program) overlay(c *cobra.Command, args []string) error {
	if asksHelp(args) {
		p.help(c)
		return nil
	}
	path, err := weave.Overlay(c.Context(), ".", args)
	if err != nil {
		return err
	}
	return p.print([]string{path})
}

// lint checks the directives first, because a mistake in them fails every build.
func (p *program) lint(c *cobra.Command, args []string) error {
	if asksHelp(args) {
		p.help(c)
		return nil
	}
	tree, err := weave.Scan(c.Context(), ".", args)
	if err != nil {
		return err
	}
	if err := p.vet(c, args, tree.Packages); err != nil {
		return err
	}
	return p.print([]string{p.say(i18n.LintPassed, len(tree.Sites))})
}

// vet runs go vet with this binary as its tool; main recognizes that call. The go
// command finds the packages' files and caches the results.
func (p *program) vet(c *cobra.Command, args, packages []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := append([]string{"vet", "-vettool=" + self}, args...)
	// The last argument is a flag, so no package is named.
	if strings.HasPrefix(argv[len(argv)-1], "-") {
		argv = append(argv, packages...)
	}
	cmd := exec.CommandContext(c.Context(), "go", argv...)
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

// show prints the woven file without a build.
func (p *program) show(c *cobra.Command, args []string) error {
	if err := p.oneFile(c, args); err != nil {
		return err
	}
	text, err := weave.Show(args[0])
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(text)
	return err
}

// verify reads the directives from the binary itself. A binary without any is exit code
// 6, so that CI can require weaving.
func (p *program) verify(c *cobra.Command, args []string) error {
	if err := p.oneFile(c, args); err != nil {
		return err
	}
	sites, err := weave.Sites(args[0])
	if err != nil {
		return err
	}
	if len(sites) == 0 {
		return &notWovenError{args[0]}
	}
	return p.print(sites)
}

// eject converts all files before it writes the first one.
func (p *program) eject(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return p.misuse(c, p.say(i18n.FileMissing), "")
	}
	texts := make([][]byte, len(args))
	for i, file := range args {
		var err error
		if texts[i], err = weave.Eject(file); err != nil {
			return err
		}
	}
	for i, file := range args {
		// The mode is not applied: WriteFile keeps that of an existing file.
		if err := os.WriteFile(file, texts[i], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// oneFile requires exactly one file.
func (p *program) oneFile(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return p.misuse(c, p.say(i18n.FileMissing), "")
	}
	return p.noArgs(c, args[1:])
}

// toolexec runs do in place of a Go tool.
func (p *program) toolexec(do func([]string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if asksHelp(args) {
			p.help(c)
			return nil
		}
		return do(args)
	}
}

// reportWeaving prints the errors of the weaving commands, and returns their exit code.
func (p *program) reportWeaving(err error) (code int, known bool) {
	var exit *exec.ExitError
	var mistakes weave.Errors
	var unwoven *notWovenError
	switch {
	case errors.As(err, &exit): // the go command has printed its error
		return max(exit.ExitCode(), exitError), true // -1 after a signal
	case errors.As(err, &mistakes): // in the format of a compiler, for editors
		fmt.Fprintln(p.stderr, mistakes)
		return exitError, true
	case errors.As(err, &unwoven):
		p.printError(p.say(i18n.NotWoven, unwoven.file), p.say(i18n.WeaveHint))
		return exitVerdict, true
	}
	return 0, false
}
