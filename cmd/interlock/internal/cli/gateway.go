package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
	"github.com/interlock-go/interlock/cmd/interlock/internal/serve"
	"github.com/interlock-go/interlock/cmd/interlock/internal/telemetry"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/observe/logs"
)

// gatewayFlags are the common flags of proxy and serve.
type gatewayFlags struct {
	health  string // address of a listener for health checks only; empty: none
	metrics string // address of a listener for /metrics only; empty: none
	wait    bool   // start although the engine is unreachable
	log     string // text or json
	verbose bool   // log every request
}

// gatewayFlags adds the flags that proxy and serve share.
func (p *program) gatewayFlags(c *cobra.Command, f *gatewayFlags) {
	flags := c.Flags()
	flags.StringVar(&f.health, "health", "", p.say(i18n.FlagHealth))
	flags.StringVar(&f.metrics, "metrics", "", p.say(i18n.FlagMetrics))
	flags.BoolVar(&f.wait, "wait-for-engine", false, p.say(i18n.FlagWaitEngine))
	flags.StringVar(&f.log, "log", "text", p.say(i18n.FlagLog))
	flags.BoolVarP(&f.verbose, "verbose", "v", false, p.say(i18n.FlagVerbose))
	choices(c, "log", "text", "json")
}

// checkGateway validates the common flags.
func (p *program) checkGateway(c *cobra.Command, f *gatewayFlags) error {
	if f.log != "text" && f.log != asJSON {
		return p.badValue(c, "log", f.log, p.say(i18n.OneOf, "text, json"))
	}
	if f.health != "" && !address(f.health) {
		return p.badValue(c, "health", f.health, p.say(i18n.AnAddress, "127.0.0.1:8081"))
	}
	if f.metrics != "" && !address(f.metrics) {
		return p.badValue(c, "metrics", f.metrics, p.say(i18n.AnAddress, "127.0.0.1:9464"))
	}
	return nil
}

// address reports whether s has the form HOST:PORT. The host may be empty: that listens
// on all interfaces.
func address(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}

// runGateway serves until a signal arrives, then shuts down. A second signal kills the
// process.
func (p *program) runGateway(c *cobra.Command, f *gatewayFlags, o serve.Options) error {
	// A closed terminal cancels ctx, too; c.Context() ends only by SIGINT or SIGTERM.
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	if o.Load != nil {
		var stop func()
		o.Reload, stop = p.reloadSignals(cancel)
		defer stop()
	} // without a file, SIGHUP keeps its default action and ends the process
	o.Health, o.Metrics, o.Lazy = f.health, f.metrics, f.wait
	o.Name = "interlock " + c.Name()
	o.Levels, o.Verbose = logs.NewLevels(slog.LevelInfo), f.verbose
	o.Log = slog.New(serve.Handler(p.stderr, f.log == asJSON, terminal(p.stderr), o.Levels))
	t, err := telemetry.Start(c.Context(), built().Version, o.Log)
	if err != nil {
		return err
	}
	defer p.stopTelemetry(t, o.Log)
	o.ClientOptions, o.Wrap, o.Sending = t.Options(), t.Handler, t.Sending
	s, err := serve.Open(c.Context(), o)
	var unreachable *serve.EngineError
	switch {
	// Ctrl-C during Open makes the engine look unreachable.
	case err != nil && c.Context().Err() != nil:
		return c.Context().Err()
	case errors.As(err, &unreachable):
		return &gatewayEngineError{o.Config.Engine, unreachable}
	case err != nil:
		return err
	}
	p.printSummary(s, o, f)
	return s.Run(ctx)
}

// stopTelemetry exports the last spans.
func (p *program) stopTelemetry(t *telemetry.Telemetry, log *slog.Logger) {
	if err := t.Shutdown(context.Background()); err != nil {
		log.Warn("some spans were not exported", "err", err)
	}
}

// reloadSignals forwards SIGHUP as a request to reload. A closed terminal sends SIGHUP,
// too; then the gateway shuts down.
func (p *program) reloadSignals(shutdown func()) (reload <-chan os.Signal, stop func()) {
	// A buffer of one is enough: a reload that starts later reads the newest file.
	received, forwarded := make(chan os.Signal, 1), make(chan os.Signal, 1)
	// A daemon never had a terminal, so each SIGHUP means a reload there.
	hadTerminal := interactive(p.stderr)
	signal.Notify(received, syscall.SIGHUP)
	go func() { // until stop
		for s := range received {
			if hadTerminal && !interactive(p.stderr) {
				shutdown()
				return
			}
			select {
			case forwarded <- s:
			default: // a reload is pending already
			}
		}
	}()
	return forwarded, func() {
		signal.Stop(received)
		close(received) // safe: after signal.Stop, nothing sends; it ends the goroutine
	}
}

// A gatewayEngineError reports that a gateway's engine is unreachable. Unlike an
// engineRequiredError, its address comes from a file.
type gatewayEngineError struct {
	engine config.Engine
	err    error
}

// Error implements error.
func (e *gatewayEngineError) Error() string { return e.err.Error() }

// Unwrap returns the engine's error.
func (e *gatewayEngineError) Unwrap() error { return e.err }

// reportGateway prints why a gateway does not start, and returns the exit code.
func (p *program) reportGateway(err error) (code int, ok bool) {
	var unreachable *gatewayEngineError
	var listen *serve.ListenError
	switch {
	case errors.As(err, &unreachable):
		p.printError(p.say(i18n.Unreachable, unreachable), p.say(i18n.GatewayEngineHint))
		return exitUnreachable, true
	case errors.As(err, &listen):
		hint := i18n.GatewayAddressHint
		switch {
		// Proxy enables the admin API by default, so the user may not expect this port.
		case listen.What == "admin":
			hint = i18n.GatewayAdminHint
		case errors.Is(err, syscall.EADDRINUSE):
			hint = i18n.GatewayPortHint
		}
		p.printError(p.say(i18n.PortTaken, listen.At, listen.Err), p.say(hint, listen.What))
		return exitError, true
	}
	return 0, false
}

// printSummary prints the addresses, the rules and the warnings of a gateway. With
// --log json it logs them instead.
func (p *program) printSummary(s *serve.Server, o serve.Options, f *gatewayFlags) {
	warnings := serve.Warnings(o.Config)
	if f.log == asJSON {
		o.Log.Info("listening", "url", s.URL, "admin", s.Admin, "token_file", s.TokenFile, "health", s.Health, "metrics", s.Metrics, "to", destination(o), "rules", len(o.Config.Rules))
		for _, w := range warnings {
			// Log lines are English in every locale, so that searches and alerts work.
			o.Log.Warn(i18n.English.Say(warningTexts[w]), "warning", string(w))
		}
		for _, w := range o.Config.Warnings() {
			o.Log.Warn(w.Text, "at", fmt.Sprintf("%s:%s", w.File, w.At), "hint", w.Hint)
		}
		return
	}
	color := p.colored(p.stderr)
	var b strings.Builder
	// 8 columns fit the longest row name.
	row := func(name i18n.Text, text string) {
		fmt.Fprintf(&b, "  %s  %s\n", i18n.Pad(p.say(name), 8), text)
	}
	fmt.Fprintf(&b, "%s → %s\n", color.Bold(s.URL), sanitize.Text(destination(o)))
	for i := range o.Config.Rules {
		row(i18n.RowRule, p.rule(&o.Config.Rules[i]))
	}
	if len(o.Config.Rules) == 0 {
		row(i18n.RowRule, p.say(i18n.NoRules))
	}
	row(i18n.RowEngine, sanitize.Text(serve.EngineName(o.Config.Engine)))
	switch {
	case s.Login != "":
		row(i18n.RowAdmin, s.Login)
	case s.Admin != "":
		row(i18n.RowAdmin, s.Admin+"/api/v1/claims")
	}
	if s.TokenFile != "" {
		row(i18n.RowToken, p.say(i18n.TokenIn, sanitize.Text(s.TokenFile)))
	}
	if s.Health != "" {
		row(i18n.RowHealth, s.Health+"/readyz")
	}
	if s.Metrics != "" {
		row(i18n.RowMetrics, s.Metrics+"/metrics")
	}
	p.listWarnings(&b, warnings)
	for _, w := range o.Config.Warnings() {
		fmt.Fprintf(&b, "  - %s\n", sanitize.Text(w.Error()))
	}
	fmt.Fprintln(&b, color.Dim(p.say(i18n.GatewayEnd)))
	fmt.Fprint(p.stderr, b.String())
}

// listWarnings writes the warnings about a configuration, one per line.
func (p *program) listWarnings(w io.Writer, warnings []serve.Warning) {
	if len(warnings) > 0 {
		fmt.Fprintln(w, p.say(i18n.WarningsTitle))
	}
	for _, warning := range warnings {
		fmt.Fprintf(w, "  - %s\n", p.say(warningTexts[warning]))
	}
}

// rule describes a rule on one line. Paths and keys come from a file, so they are
// sanitized.
func (p *program) rule(r *config.Rule) string {
	methods := strings.Join(r.Match.Methods, ",")
	if methods == "" {
		methods = "*"
	}
	words := []string{methods, r.Match.Path, " " + string(r.Do.Verb), r.Do.Name + ":" + r.Key.String()}
	if r.Optional {
		words = append(words, " ("+p.say(i18n.RuleOptional)+")")
	}
	if r.Shadow {
		words = append(words, " ("+p.say(i18n.RuleShadow)+")")
	}
	return sanitize.Text(strings.Join(words, " "))
}

// destination describes where the requests go.
func destination(o serve.Options) string {
	if o.ExtProc {
		return "Envoy"
	}
	return upstreams(o.Config)
}

// upstreams lists the upstream URLs without passwords.
func upstreams(c *config.Config) string {
	var all []string
	for _, to := range c.Upstream.To {
		all = append(all, to.Redacted())
	}
	return strings.Join(all, ", ")
}

// warningTexts are the messages of the warnings. Package serve has no texts: it does not
// know the user's language.
var warningTexts = map[serve.Warning]i18n.Text{
	serve.Memory:      i18n.WarningMemory,
	serve.NoPrincipal: i18n.WarningNoPrincipal,
	serve.OptionalKey: i18n.WarningOptionalKey,
	serve.NoRules:     i18n.WarningNoRules,
	serve.Rerun:       i18n.WarningRerun,
	serve.ShortRetain: i18n.WarningShortRetain,
}
