package cli

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/interlock-go/interlock/gateway/config"
)

// gatewayFlags are what every gateway can be told, whatever its rules are.
type gatewayFlags struct {
	health  string
	wait    bool
	log     string
	verbose bool
}

func (p *program) gatewayFlags(c *cobra.Command, f *gatewayFlags) {
	flags := c.Flags()
	flags.StringVar(&f.health, "health", "", p.say(i18n.FlagHealth))
	flags.BoolVar(&f.wait, "wait-for-engine", false, p.say(i18n.FlagWaitEngine))
	flags.StringVar(&f.log, "log", "text", p.say(i18n.FlagLog))
	flags.BoolVarP(&f.verbose, "verbose", "v", false, p.say(i18n.FlagVerbose))
	choices(c, "log", "text", "json")
}

func (p *program) checkGateway(c *cobra.Command, f *gatewayFlags) error {
	if f.log != "text" && f.log != asJSON {
		return p.badValue(c, "log", f.log, p.say(i18n.OneOf, "text, json"))
	}
	if f.health != "" && !address(f.health) {
		return p.badValue(c, "health", f.health, p.say(i18n.AnAddress, "127.0.0.1:8081"))
	}
	return nil
}

// address tells whether somebody could listen there.
func address(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}

// runGateway serves until it is over: a signal ends it in order, and another one at
// once.
func (p *program) runGateway(c *cobra.Command, f *gatewayFlags, o serve.Options) error {
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	if o.Load != nil {
		var stop func()
		o.Again, stop = p.hangups(cancel)
		defer stop()
	} // or SIGHUP ends it, as it does with everything that makes nothing of it
	o.Health, o.Lazy = f.health, f.wait
	o.Name = "interlock " + c.Name()
	o.Log = slog.New(serve.Handler(p.stderr, f.log == asJSON, terminal(p.stderr), f.verbose))
	s, err := serve.Open(c.Context(), o)
	var away *serve.EngineError
	switch {
	case err != nil && c.Context().Err() != nil:
		return c.Context().Err()
	case errors.As(err, &away):
		return &gatewayAwayError{o.Config.Engine, away}
	case err != nil:
		return err
	}
	p.greet(s, o, f)
	return s.Run(ctx)
}

// hangups returns when to read the file again. That a terminal was closed is told by the
// same signal, and ends what was started there.
func (p *program) hangups(end func()) (again <-chan os.Signal, stop func()) {
	heard, told := make(chan os.Signal, 1), make(chan os.Signal, 1)
	there := interactive(p.stderr)
	signal.Notify(heard, syscall.SIGHUP)
	go func() { // until stop
		for s := range heard {
			if there && !interactive(p.stderr) {
				end()
				return
			}
			select {
			case told <- s:
			default: // it is about to be read anyway
			}
		}
	}()
	return told, func() {
		signal.Stop(heard)
		close(heard)
	}
}

// A gatewayAwayError is a gateway's engine that is away.
type gatewayAwayError struct {
	engine config.Engine
	err    error
}

// Error implements error.
func (e *gatewayAwayError) Error() string { return e.err.Error() }

// Unwrap returns what the engine said.
func (e *gatewayAwayError) Unwrap() error { return e.err }

// reportGateway says why a gateway does not begin.
func (p *program) reportGateway(err error) (code int, ok bool) {
	var away *gatewayAwayError
	var taken *serve.ListenError
	switch {
	case errors.As(err, &away):
		p.complain(p.say(i18n.Unreachable, away), p.say(i18n.GatewayAwayHint))
		return exitUnreachable, true
	case errors.As(err, &taken):
		hint := i18n.GatewayPortHint
		if taken.What == "admin" {
			hint = i18n.GatewayAdminHint
		}
		p.complain(p.say(i18n.PortTaken, taken.At, taken.Err), p.say(hint, taken.What))
		return exitError, true
	}
	return 0, false
}

// greet says what is there now, and what is not yet as it should be for others to
// depend on it: in lines for people, or in the log's own form for programs.
func (p *program) greet(s *serve.Server, o serve.Options, f *gatewayFlags) {
	lacks := serve.Warnings(o.Config)
	if f.log == asJSON {
		o.Log.Info("listening", "url", s.URL, "admin", s.Admin, "health", s.Health, "to", upstreams(o.Config), "rules", len(o.Config.Rules))
		for _, l := range lacks {
			o.Log.Warn(i18n.English.Say(lackTexts[l]), "lack", string(l))
		}
		return
	}
	paint := p.paint(p.stderr)
	var b strings.Builder
	row := func(name i18n.Text, text string) {
		fmt.Fprintf(&b, "  %s  %s\n", i18n.Pad(p.say(name), 8), text)
	}
	fmt.Fprintf(&b, "%s → %s\n", paint.Bold(s.URL), sanitize.Text(upstreams(o.Config)))
	for i := range o.Config.Rules {
		row(i18n.RowRule, p.rule(&o.Config.Rules[i]))
	}
	if len(o.Config.Rules) == 0 {
		row(i18n.RowRule, p.say(i18n.NoRules))
	}
	row(i18n.RowEngine, sanitize.Text(serve.EngineName(o.Config.Engine)))
	if s.Admin != "" {
		row(i18n.RowAdmin, s.Admin+"/api/v1/claims")
	}
	if s.Health != "" {
		row(i18n.RowHealth, s.Health+"/readyz")
	}
	if len(lacks) > 0 {
		fmt.Fprintln(&b, p.say(i18n.LacksTitle))
	}
	for _, l := range lacks {
		fmt.Fprintf(&b, "  - %s\n", p.say(lackTexts[l]))
	}
	fmt.Fprintln(&b, paint.Dim(p.say(i18n.GatewayEnd)))
	fmt.Fprint(p.stderr, b.String())
}

// rule is a rule in a line.
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

func upstreams(c *config.Config) string {
	var all []string
	for _, to := range c.Upstream.To {
		all = append(all, to.Redacted())
	}
	return strings.Join(all, ", ")
}

// lackTexts are what is missing, in words.
var lackTexts = map[serve.Warning]i18n.Text{
	serve.Memory:      i18n.LackMemory,
	serve.NoPrincipal: i18n.LackNobody,
	serve.OptionalKey: i18n.LackVoluntary,
	serve.Unguarded:   i18n.LackRules,
}
