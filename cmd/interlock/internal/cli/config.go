package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/serve"
	"github.com/interlock-go/interlock/gateway/config"
)

// configFile is the default name of a gateway's file.
const configFile = "interlock.yaml"

// A configError reports a problem of a gateway's file, with a hint. An empty hint means
// that the mistakes were printed before.
type configError struct{ text, hint string }

// Error implements error.
func (e *configError) Error() string { return e.text }

// config returns the commands for a gateway's file.
func (p *program) config() *cobra.Command {
	c := &cobra.Command{
		Use: "config COMMAND", Short: p.say(i18n.AboutConfig), Long: p.say(i18n.AboutConfigLong),
		Example: "  interlock config init\n  interlock config validate\n  interlock config show --origin",
		Args:    cobra.ArbitraryArgs, RunE: p.runGroup,
	}
	c.AddCommand(p.configInit(), p.configValidate(), p.configFmt(), p.configShow(), p.configSchema())
	for _, sub := range c.Commands() {
		sub.DisableFlagsInUseLine = true // Use already lists the flags
		sub.Flags().SortFlags = false
	}
	return c
}

// configInit is "config init". With - as its file it writes to stdout.
func (p *program) configInit() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "init [flags] [FILE]", Short: p.say(i18n.AboutConfigInit), Long: p.say(i18n.AboutConfigInitLong), Args: p.atMostOne,
		RunE: func(_ *cobra.Command, args []string) error { return p.writeStarter(fileOf(args), force) },
	}
	c.Flags().BoolVar(&force, "force", false, p.say(i18n.FlagConfigForce))
	return c
}

// writeStarter writes the starter file. Without force it creates the file exclusively, and
// never overwrites one.
func (p *program) writeStarter(file string, force bool) error {
	if file == "-" {
		_, err := io.WriteString(p.stdout, config.Init())
		return err
	}
	openFlags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		openFlags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC // O_TRUNC keeps the mode and a symbolic link
	}
	f, err := os.OpenFile(file, openFlags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &configError{p.say(i18n.ConfigExists, file), p.say(i18n.ConfigForce)}
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(f, config.Init()); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	// A note, not a result: stdout stays empty unless the file is -.
	_, err = fmt.Fprintln(p.stderr, p.say(i18n.ConfigWritten, file))
	return err
}

// configValidate is "config validate". It contacts no server.
func (p *program) configValidate() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "validate [flags] [FILE]", Short: p.say(i18n.AboutConfigValidate), Long: p.say(i18n.AboutConfigValidateLong), Args: p.atMostOne,
		Example: "  interlock config validate\n  interlock config init - | interlock config validate -o json -",
		RunE: func(c *cobra.Command, args []string) error {
			if err := p.checkOutput(c, output); err != nil {
				return err
			}
			return p.validate(fileOf(args), output == asJSON)
		},
	}
	p.outputFlag(c, &output)
	return c
}

// validate prints all mistakes of a file. With -o json, the list goes to stdout and the
// summary to stderr.
func (p *program) validate(file string, asJSON bool) error {
	content, err := p.content(file)
	if err != nil {
		return err
	}
	cfg, errs := config.Parse(shownAs(file), content)
	if asJSON {
		var warnings config.Errors
		if cfg != nil {
			warnings = cfg.Warnings()
		}
		if err := p.mistakesJSON(errs, warnings); err != nil {
			return err
		}
		if len(errs) > 0 {
			return p.mistakeCount(file, errs)
		}
		return nil
	}
	if len(errs) > 0 {
		return p.printMistakes(file, errs)
	}
	for _, w := range cfg.Warnings() {
		fmt.Fprintln(p.stderr, p.say(i18n.WarningPrefix)+w.Show())
	}
	if _, err = fmt.Fprintln(p.stdout, p.say(i18n.ConfigValid, shownAs(file), len(cfg.Rules))); err != nil {
		return err
	}
	p.listWarnings(p.stderr, serve.Warnings(cfg))
	return nil
}

// A mistakeJSON is a mistake in a file, as JSON. Lines and columns count from 1, as in
// editors.
type mistakeJSON struct {
	File    string      `json:"file"`
	Line    int         `json:"line"`
	Col     int         `json:"col"`
	Code    config.Code `json:"code"`
	Text    string      `json:"text"`
	Hint    string      `json:"hint"`
	Excerpt string      `json:"excerpt"`

	// Severity is error or warning. A file with warnings only is valid.
	Severity string `json:"severity"`
}

// mistakesJSON prints the mistakes as a list for editors and CI.
func (p *program) mistakesJSON(errs, warnings config.Errors) error {
	all := make([]mistakeJSON, 0, len(errs)+len(warnings)) // encodes as [], not null
	add := func(list config.Errors, severity string) {
		for _, m := range list {
			all = append(all, mistakeJSON{m.File, m.At.Line, m.At.Col, m.Code, m.Text, m.Hint, m.Excerpt, severity})
		}
	}
	add(errs, "error")
	add(warnings, "warning")
	e := json.NewEncoder(p.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(all)
}

// configFmt is "config fmt". With --check it changes nothing, for CI.
func (p *program) configFmt() *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use: "fmt [flags] [FILE]", Short: p.say(i18n.AboutConfigFmt), Long: p.say(i18n.AboutConfigFmtLong), Args: p.atMostOne,
		RunE: func(_ *cobra.Command, args []string) error { return p.format(fileOf(args), check) },
	}
	c.Flags().BoolVar(&check, "check", false, p.say(i18n.FlagCheck))
	return c
}

// format rewrites a file in place, or only checks it. A file with mistakes is not
// changed.
func (p *program) format(file string, check bool) error {
	content, err := p.content(file)
	if err != nil {
		return err
	}
	formatted, errs := config.Format(shownAs(file), content)
	switch same := bytes.Equal(formatted, content); {
	case len(errs) > 0:
		return p.printMistakes(file, errs)
	case check && !same:
		return &configError{p.say(i18n.ConfigNotFormatted, shownAs(file)), p.say(i18n.ConfigFmtHint)}
	case check:
		return nil
	case file == "-":
		_, err := p.stdout.Write(formatted)
		return err
	case same:
		return nil
	}
	return replace(file, formatted)
}

// replace writes a file atomically: a gateway that watches it never reads half of it.
func replace(file string, content []byte) error {
	mode := os.FileMode(0o644)
	// A file with secrets must not become readable for others.
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if to, err := os.Readlink(file); err == nil && to != "" {
		return os.WriteFile(file, content, mode) // a rename would replace the link
	}
	next := file + ".new" // in the same directory: a rename is atomic only within a file system
	if err := os.WriteFile(next, content, mode); err != nil {
		return err
	}
	if err := os.Rename(next, file); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

// configShow is "config show". It prints the file with all defaults filled in.
func (p *program) configShow() *cobra.Command {
	var origin bool
	c := &cobra.Command{
		Use: "show [flags] [FILE]", Short: p.say(i18n.AboutConfigShow), Long: p.say(i18n.AboutConfigShowLong), Args: p.atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			file := fileOf(args)
			content, err := p.content(file)
			if err != nil {
				return err
			}
			cfg, errs := config.Parse(shownAs(file), content)
			if len(errs) > 0 {
				return p.printMistakes(file, errs)
			}
			_, err = p.stdout.Write(cfg.Print(origin))
			return err
		},
	}
	c.Flags().BoolVar(&origin, "origin", false, p.say(i18n.FlagOrigin))
	return c
}

// configSchema is "config schema", for editors that complete YAML.
func (p *program) configSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: p.say(i18n.AboutConfigSchema), Args: p.noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := p.stdout.Write(config.Schema())
			return err
		},
	}
}

// content reads a gateway's file; - is standard input.
func (p *program) content(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(os.Stdin)
	}
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &configError{p.say(i18n.ConfigMissing, file), p.say(i18n.ConfigInitHint)}
	}
	return content, err
}

// printMistakes prints every mistake and returns an error with their number.
func (p *program) printMistakes(file string, errs config.Errors) error {
	for _, m := range errs {
		if _, err := fmt.Fprintln(p.stderr, m.Show()); err != nil {
			return err
		}
	}
	return p.mistakeCount(file, errs)
}

// mistakeCount returns the error that ends the command after the mistakes were printed.
func (p *program) mistakeCount(file string, errs config.Errors) error {
	return &configError{p.say(i18n.ConfigInvalid, shownAs(file), len(errs)), ""}
}

// atMostOne allows one file.
func (p *program) atMostOne(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return p.noArgs(c, args[1:])
	}
	return nil
}

// fileOf returns the file argument, or the default name.
func fileOf(args []string) string {
	if len(args) == 0 {
		return configFile
	}
	return args[0]
}

// shownAs returns the name of a file for messages.
func shownAs(file string) string {
	if file == "-" {
		return "stdin"
	}
	return file
}
