package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/backend"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/serve"
	"github.com/interlock-go/interlock/gateway/config"
)

// proxyFlags are the flags of proxy.
type proxyFlags struct {
	serve.ProxyConfig
	print bool // print the equivalent file and exit
	gatewayFlags
}

// proxy runs a gateway that flags describe, without a file.
func (p *program) proxy() *cobra.Command {
	var f proxyFlags
	c := &cobra.Command{
		Use: "proxy --to URL [flags]", Short: p.say(i18n.AboutProxy), Long: p.say(i18n.AboutProxyLong),
		Example: "  interlock proxy --to http://127.0.0.1:9000\n" +
			"  interlock proxy --to http://127.0.0.1:9000 --engine redis://127.0.0.1:6379 --once 'POST /orders=header.Idempotency-Key'\n" +
			"  interlock proxy --to http://127.0.0.1:9000 --print-config >interlock.yaml",
		Args: p.noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.runProxy(c, &f) },

		DisableFlagsInUseLine: true, // Use already lists the flags
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.To, "to", nil, p.say(i18n.FlagProxyTo))
	flags.StringVar(&f.Listen, "listen", config.DefaultListen, p.say(i18n.FlagProxyListen))
	flags.StringVar(&f.Engine, "engine", "", p.say(i18n.FlagProxyEngine))
	flags.StringArrayVar(&f.Once, "once", nil, p.say(i18n.FlagOnce))
	flags.StringVar(&f.RulesFile, "rules", "", p.say(i18n.FlagRules))
	flags.StringVar(&f.Principal, "principal", "none", p.say(i18n.FlagPrincipal))
	flags.StringArrayVar(&f.Trust, "trust", nil, p.say(i18n.FlagTrust))
	flags.StringVar(&f.Admin, "admin", config.DefaultAdminListen, p.say(i18n.FlagAdmin))
	flags.BoolVar(&f.print, "print-config", false, p.say(i18n.FlagPrintProxy))
	// The flag --to of switch takes a side, so help needs another placeholder here.
	flags.Lookup("to").Annotations = map[string][]string{valueAnnotation: {"URL"}}
	for _, name := range []string{"to", "once", "trust"} {
		flags.Lookup(name).DefValue = "" // not []
	}
	p.gatewayFlags(c, &f.gatewayFlags)
	return c
}

// runProxy builds the configuration file from the flags and runs it. Only a rules file
// can be reloaded. A reload builds the file again, with the same flags.
func (p *program) runProxy(c *cobra.Command, f *proxyFlags) error {
	if err := p.checkProxy(c, f); err != nil {
		return err
	}
	var rules []byte // read before YAML reads them, so that no change is missed
	if f.RulesFile != "" {
		var err error
		if rules, err = os.ReadFile(f.RulesFile); err != nil {
			return err
		}
	}
	text, err := f.YAML()
	if err != nil {
		return err
	}
	cfg, errs := config.Parse(f.name(), text)
	if len(errs) > 0 {
		// Without a rules file, every line comes from a flag.
		return p.usageFromMistakes(c, f.name(), errs, f.RulesFile == "")
	}
	if f.print {
		_, err := p.stdout.Write(text)
		return err
	}
	o := serve.Options{Config: cfg}
	if f.RulesFile != "" {
		o.File, o.Content, o.Load = f.RulesFile, rules, func() (*config.Config, error) {
			text, err := f.YAML()
			if err != nil {
				return nil, err
			}
			cfg, errs := config.Parse(f.name(), text)
			return cfg, errs.Err()
		}
	}
	return p.runGateway(c, &f.gatewayFlags, o)
}

// name returns the file name for error messages.
func (f *proxyFlags) name() string {
	if f.RulesFile != "" {
		return f.RulesFile
	}
	return "interlock proxy"
}

// checkProxy validates the flags before the file is built, so that errors name flags
// instead of lines of a file that the user never wrote.
func (p *program) checkProxy(c *cobra.Command, f *proxyFlags) error {
	if err := p.checkGateway(c, &f.gatewayFlags); err != nil {
		return err
	}
	if !c.Flag("engine").Changed {
		// Without either, f.Engine stays empty: the embedded engine.
		f.Engine = p.getenv(engineVariable)
	}
	// Checked below, after the address has become a reference to the variable.
	typed := f.Engine
	if f.Engine != "" && !c.Flag("engine").Changed {
		f.Engine = "${" + engineVariable + "}" // --print-config must not print a password
	}
	switch {
	case len(f.To) == 0:
		return p.misuse(c, p.say(i18n.Missing, "--to"), "")
	case len(f.Once) > 0 && f.RulesFile != "":
		return p.misuse(c, p.say(i18n.NotBoth, "once", "rules"), "")
	case typed != "" && !backend.Known(typed):
		return p.notEngineURL(c, typed, p.engineFrom(c))
	case !address(f.Listen):
		return p.badValue(c, "listen", f.Listen, p.say(i18n.AnAddress, "127.0.0.1:8080"))
	case f.Admin != serve.Off && !address(f.Admin):
		return p.badValue(c, "admin", f.Admin, p.say(i18n.AnAddressOrOff))
	}
	for _, to := range f.To {
		if !strings.HasPrefix(to, "http://") && !strings.HasPrefix(to, "https://") {
			return p.misuse(c, p.say(i18n.NotHTTP, to), fmt.Sprint("--to http://", strings.TrimPrefix(to, "//")))
		}
	}
	for _, once := range f.Once {
		if !serve.ValidOnce(once) {
			return p.badValue(c, "once", once, p.say(i18n.AnOnce))
		}
	}
	if !serve.ValidPrincipal(f.Principal) {
		return p.badValue(c, "principal", f.Principal, p.say(i18n.OneOf, "none, header:NAME, jwks:FILE, jwks:URL"))
	}
	if f.RulesFile == "" {
		return nil
	}
	// YAML would report a missing file, too, but without a hint.
	if _, err := os.Stat(f.RulesFile); os.IsNotExist(err) {
		return &configError{p.say(i18n.ConfigMissing, f.RulesFile), p.say(i18n.RulesHint)}
	}
	return nil
}

// engineFrom returns the source of the engine's address.
func (p *program) engineFrom(c *cobra.Command) string {
	if c.Flag("engine").Changed {
		return "--engine"
	}
	return engineVariable
}
