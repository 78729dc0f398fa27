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

// A bareError is a program without anything woven into it.
type bareError struct{ file string }

// Error implements error.
func (e *bareError) Error() string { return "nothing is woven into " + e.file }

// weaving are the commands about directives.
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
		{Use: "weave TOOL [ARGUMENTS]", Short: p.say(i18n.AboutWeave), RunE: p.standing(weave.Toolexec),
			Example: "  go build -toolexec='interlock weave' ./..."},
		{Use: "cover-shim TOOL [ARGUMENTS]", Short: p.say(i18n.AboutShim), RunE: p.standing(weave.CoverShim), Hidden: true},
	}
	for _, c := range all {
		c.DisableFlagsInUseLine = true // Use has them
		switch c.Name() {
		case "go", "overlay", "lint", "weave", "cover-shim":
			c.DisableFlagParsing = true // they are the go command's
		}
	}
	return all
}

// asksHelp is for commands that leave their flags to others.
func asksHelp(args []string) bool {
	return len(args) == 1 && (args[0] == "-h" || args[0] == "--help")
}

func (p *program) goCommand(c *cobra.Command, args []string) error {
	if asksHelp(args) {
		p.help(c)
		return nil
	}
	if len(args) == 0 {
		return p.misuse(c, p.say(i18n.GoLacking), "")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv, err := weave.Go(c.Context(), ".", self, args)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(c.Context(), "go", argv...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, p.stdout, p.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its own children
	return cmd.Run()
}

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

func (p *program) lint(c *cobra.Command, args []string) error {
	if asksHelp(args) {
		p.help(c)
		return nil
	}
	tree, err := weave.Scan(c.Context(), ".", args)
	if err != nil {
		return err
	}
	if err := p.vet(c, args); err != nil {
		return err
	}
	return p.print([]string{p.say(i18n.LintPassed, len(tree.Sites))})
}

// vet has the go command analyze packages with this program, which main
// recognises: go knows what they consist of, and keeps what it found.
func (p *program) vet(c *cobra.Command, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := append([]string{"vet", "-vettool=" + self}, args...)
	if strings.HasPrefix(argv[len(argv)-1], "-") {
		argv = append(argv, "./...")
	}
	cmd := exec.CommandContext(c.Context(), "go", argv...)
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

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

func (p *program) verify(c *cobra.Command, args []string) error {
	if err := p.oneFile(c, args); err != nil {
		return err
	}
	sites, err := weave.Sites(args[0])
	if err != nil {
		return err
	}
	if len(sites) == 0 {
		return &bareError{args[0]}
	}
	return p.print(sites)
}

// eject writes files only if all of them can be.
func (p *program) eject(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return p.misuse(c, p.say(i18n.FileLack), "")
	}
	texts := make([][]byte, len(args))
	for i, file := range args {
		var err error
		if texts[i], err = weave.Eject(file); err != nil {
			return err
		}
	}
	for i, file := range args {
		if err := os.WriteFile(file, texts[i], 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) oneFile(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return p.misuse(c, p.say(i18n.FileLack), "")
	}
	return p.noArgs(c, args[1:])
}

// standing stands between the go command and one of its tools.
func (p *program) standing(do func([]string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if asksHelp(args) {
			p.help(c)
			return nil
		}
		return do(args)
	}
}

// reportWeaving says what went wrong with a build, if that is what it is.
func (p *program) reportWeaving(err error) (code int, known bool) {
	var exit *exec.ExitError
	var mistakes weave.Errors
	var bare *bareError
	switch {
	case errors.As(err, &exit): // the go command, which has told
		return max(exit.ExitCode(), exitError), true
	case errors.As(err, &mistakes): // as a compiler does, for editors
		fmt.Fprintln(p.stderr, mistakes)
		return exitError, true
	case errors.As(err, &bare):
		p.complain(p.say(i18n.NotWoven, bare.file), p.say(i18n.WeaveHint))
		return exitVerdict, true
	}
	return 0, false
}
