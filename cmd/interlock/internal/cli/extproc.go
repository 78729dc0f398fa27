package cli

import (
	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/gateway/config"
)

// extProc runs the rules of a file as a server of Envoy's filter ext_proc.
func (p *program) extProc() *cobra.Command {
	var file, listen string
	var f gatewayFlags
	c := &cobra.Command{
		Use: "ext-proc [flags]", Short: p.say(i18n.AboutExtProc), Long: p.say(i18n.AboutExtProcLong),
		Example: "  interlock ext-proc --listen 127.0.0.1:9002\n  interlock ext-proc --config shop.yaml --log json",
		Args:    p.noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := p.checkGateway(c, &f); err != nil {
				return err
			}
			if listen != "" && !address(listen) {
				return p.badValue(c, "listen", listen, p.say(i18n.AnAddress, "127.0.0.1:9002"))
			}
			o, err := p.gatewayFile(file, func(cfg *config.Config) {
				if listen != "" {
					cfg.Listen = listen
				}
			})
			if err != nil {
				return err
			}
			o.ExtProc = true
			return p.runGateway(c, &f, o)
		},

		DisableFlagsInUseLine: true, // Use already lists the flags
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&file, "config", configFile, p.say(i18n.FlagConfigFile))
	c.Flags().StringVar(&listen, "listen", "", p.say(i18n.FlagExtProcListen))
	p.gatewayFlags(c, &f)
	return c
}
