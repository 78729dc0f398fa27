package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/serve"
	"github.com/interlock-go/interlock/gateway/config"
)

// serve runs the gateway that a file describes.
func (p *program) serve() *cobra.Command {
	var file string
	var f gatewayFlags
	c := &cobra.Command{
		Use: "serve [flags]", Short: p.say(i18n.AboutServe), Long: p.say(i18n.AboutServeLong),
		Example: "  interlock config init\n  interlock serve\n  interlock serve --config shop.yaml --log json",
		Args:    p.noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := p.checkGateway(c, &f); err != nil {
				return err
			}
			o, err := p.gatewayFile(file, nil)
			if err != nil {
				return err
			}
			return p.runGateway(c, &f, o)
		},

		DisableFlagsInUseLine: true, // Use already lists the flags
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&file, "config", configFile, p.say(i18n.FlagConfigFile))
	p.gatewayFlags(c, &f)
	return c
}

// gatewayFile reads the file of a gateway. A file with mistakes never starts one, not even
// with the rules that are right. change, if not nil, applies flags, also after a reload.
func (p *program) gatewayFile(file string, change func(*config.Config)) (serve.Options, error) {
	content, err := p.content(file)
	if err != nil {
		return serve.Options{}, err
	}
	cfg, errs := config.Parse(shownAs(file), content)
	if len(errs) > 0 {
		return serve.Options{}, p.printMistakes(file, errs)
	}
	apply := func(cfg *config.Config) *config.Config {
		if cfg != nil && change != nil {
			change(cfg)
		}
		return cfg
	}
	o := serve.Options{Config: apply(cfg)}
	if file != "-" { // standard input cannot be read twice
		o.File, o.Content, o.Load = file, content, func() (*config.Config, error) {
			cfg, err := config.Load(file)
			return apply(cfg), err
		}
	}
	return o, nil
}

// usageFromMistakes prints mistakes. If the command line caused them, they are a usage
// error, not an error of a file. Only proxy needs it.
func (p *program) usageFromMistakes(c *cobra.Command, name string, errs config.Errors, byFlags bool) error {
	err := p.printMistakes(name, errs)
	var wrong *configError
	if byFlags && errors.As(err, &wrong) {
		return p.misuse(c, wrong.text, "")
	}
	return err
}
