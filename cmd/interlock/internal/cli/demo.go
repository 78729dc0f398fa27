package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/backend"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/engine"
)

const (
	maxClicks = 10_000      // each is a goroutine that waits for the lock
	maxWork   = time.Minute // longer work is likely a mistaken unit

	// The address of all commands that take --engine. It keeps a password out of the
	// process list.
	engineVariable = "INTERLOCK_ENGINE_URL"
)

// demoFlags are the flags of demo.
type demoFlags struct {
	clicks int           // goroutines of the storm, and submissions of the order
	hold   time.Duration // how long each one works
	key    string        // of the lock; a flag, because a shared engine may use the default key
	engine string
	site   siteFlags
}

// demo needs no server: the embedded engine is the default.
func (p *program) demo() *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo [flags]",
		Short: p.say(i18n.AboutDemo),
		Long:  p.say(i18n.AboutDemoLong),
		Example: "  interlock demo\n" +
			"  interlock demo --n 24 --hold 20ms\n" +
			"  interlock demo --engine redis://localhost:6379\n" +
			"  interlock demo --no-page",
		Args: p.noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.runDemo(c, &f) },

		DisableFlagsInUseLine: true, // Use already lists the flags
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.IntVar(&f.clicks, "n", 100, p.say(i18n.FlagN, maxClicks))
	flags.DurationVar(&f.hold, "hold", 3*time.Millisecond, p.say(i18n.FlagHold))
	flags.StringVar(&f.key, "key", "interlock:demo", p.say(i18n.FlagKey))
	flags.StringVar(&f.engine, "engine", "", p.say(i18n.FlagDemoEngine))
	p.siteFlags(c, &f.site)
	return c
}

// runDemo runs the demo in the terminal, and then serves the page. It opens the engine
// and the port first, so that a mistake is reported before any output.
func (p *program) runDemo(c *cobra.Command, f *demoFlags) error {
	if err := p.checkDemo(c, f); err != nil {
		return err
	}
	stages := []demo.Target{{Name: p.say(i18n.Embedded)}}
	address, from := p.engineAddress(c, f)
	// Before the engine is opened: printing needs no server.
	if f.site.print {
		return p.printConfig(&f.site, address)
	}
	var shared engine.Engine // nil: the embedded engine
	if address != "" {       // first, so that a wrong address is reported at once
		e, err := p.open(c, address, from)
		if err != nil {
			return err
		}
		defer e.Close() //nolint:errcheck // the demo is done
		stages = append(stages, demo.Target{Name: p.say(i18n.OnEngine, backend.Name(address), host(address)), Engine: e})
		shared = e
	}
	page, err := p.openSite(c, &f.site, shared, address) // before the demo, so that a port in use is reported at once
	if err != nil {
		return err
	}
	d := &demo.Demo{
		Clicks: f.clicks, Hold: f.hold, Key: f.key,
		Out: p.stdout, Notes: p.stderr,
		Language: p.lang, Color: p.colored(p.stdout), Width: columns(p.stdout, p.getenv),
	}
	err = d.Run(c.Context(), stages...)
	switch {
	// After Ctrl-C every call fails; that says nothing about the engine.
	case err != nil && c.Context().Err() == nil && unreachable(err):
		return &unreachableError{from, err}
	case err == nil && address == "":
		fmt.Fprintln(p.stderr, "\n"+p.colored(p.stderr).Dim(p.say(i18n.TryEngine)))
	}
	// A failed verdict ends the command: the page would hide its exit code.
	if err != nil || page == nil {
		return err
	}
	return p.serveSite(c.Context(), &f.site, page)
}

// checkDemo validates the flags of demo.
func (p *program) checkDemo(c *cobra.Command, f *demoFlags) error {
	switch {
	case f.clicks < 1 || f.clicks > maxClicks:
		return p.badValue(c, "n", fmt.Sprint(f.clicks), p.between(1, maxClicks))
	case f.hold < 0 || f.hold > maxWork:
		return p.badValue(c, "hold", f.hold.String(), p.between(0, maxWork))
	}
	if err := p.checkSite(c, &f.site); err != nil {
		return err
	}
	// The library validates a key on acquisition; do that before the demo starts.
	_, hold, err := interlock.New(nil).Mutex(f.key).TryLock(c.Context())
	if errors.Is(err, interlock.ErrKey) {
		return p.misuse(c, err.Error(), "")
	}
	if err != nil {
		return err
	}
	return hold.Unlock()
}

// engineAddress returns the address of an engine, if one is set, and the source of the address. The
// source is part of error messages, which must not contain the address.
func (p *program) engineAddress(c *cobra.Command, f *demoFlags) (address, from string) {
	if c.Flag("engine").Changed {
		return f.engine, "--engine"
	}
	return p.getenv(engineVariable), engineVariable
}

// open opens an engine. An invalid address is a usage error, and an unreachable server is an
// unreachableError.
func (p *program) open(c *cobra.Command, address, from string) (backend.Engine, error) {
	if !backend.Known(address) {
		return nil, p.notEngineURL(c, address, from)
	}
	e, err := backend.Open(c.Context(), address, false)
	switch {
	// Ctrl-C while connecting is no error of the server.
	case err != nil && c.Context().Err() != nil:
		return nil, context.Cause(c.Context())
	case err != nil && unreachable(err):
		return nil, &unreachableError{from, err}
	}
	return e, err
}

// host returns the servers of an address without the password. Package url does not parse
// several hosts. A password may contain @, so the last @ ends it.
func host(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return rest[strings.LastIndexByte(rest, '@')+1:]
}
