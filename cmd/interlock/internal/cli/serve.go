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
			content, err := p.content(file)
			if err != nil {
				return err
			}
			cfg, errs := config.Parse(shownAs(file), content)
			if len(errs) > 0 {
				return p.tell(file, errs)
			}
			o := serve.Options{Config: cfg}
			if file != "-" { // what came from there is gone
				o.File, o.Load = file, func() (*config.Config, error) { return config.Load(file) }
			}
			return p.runGateway(c, &f, o)
		},

		DisableFlagsInUseLine: true, // Use has them
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&file, "config", configFile, p.say(i18n.FlagConfigFile))
	p.gatewayFlags(c, &f)
	return c
}

// told returns mistakes as the error of a command line.
func (p *program) told(c *cobra.Command, name string, errs config.Errors, fault bool) error {
	err := p.tell(name, errs)
	var wrong *configError
	if fault && errors.As(err, &wrong) {
		return p.misuse(c, wrong.text, "")
	}
	return err
}
