package cli

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/alertrelay"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/serve"
	"github.com/interlock-go/interlock/observe/logs"
)

// The robot's address and secret are secrets. They have no flags, because other users can
// see the arguments of a process.
const (
	webhookVariable = "INTERLOCK_DINGTALK_WEBHOOK"
	secretVariable  = "INTERLOCK_DINGTALK_SECRET"
)

// relayFlags are the flags of alert-relay.
type relayFlags struct{ listen, webhookFile, secretFile, log string }

// alertRelay forwards alerts to DingTalk.
func (p *program) alertRelay() *cobra.Command {
	var f relayFlags
	c := &cobra.Command{
		Use: "alert-relay [flags]", Short: p.say(i18n.AboutAlertRelay), Long: p.say(i18n.AboutAlertRelayLong),
		Example: "  interlock alert-relay\n  interlock alert-relay --webhook-file /run/secrets/webhook --secret-file /run/secrets/secret",
		Args:    p.noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return p.runAlertRelay(c, &f) },

		DisableFlagsInUseLine: true, // Use already lists the flags
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.listen, "listen", "127.0.0.1:9095", p.say(i18n.FlagRelayListen))
	flags.StringVar(&f.webhookFile, "webhook-file", "", p.say(i18n.FlagWebhookFile))
	flags.StringVar(&f.secretFile, "secret-file", "", p.say(i18n.FlagSecretFile))
	flags.StringVar(&f.log, "log", "text", p.say(i18n.FlagLog))
	choices(c, "log", "text", "json")
	return c
}

func (p *program) runAlertRelay(c *cobra.Command, f *relayFlags) error {
	if !address(f.listen) {
		return p.badValue(c, "listen", f.listen, p.say(i18n.AnAddress, "127.0.0.1:9095"))
	}
	if f.log != "text" && f.log != asJSON {
		return p.badValue(c, "log", f.log, p.say(i18n.OneOf, "text, json"))
	}
	webhook, from, err := p.secretFrom(webhookVariable, f.webhookFile)
	if err != nil {
		return err
	}
	secret, _, err := p.secretFrom(secretVariable, f.secretFile)
	if err != nil {
		return err
	}
	if webhook == "" {
		return &usageError{p.say(i18n.NoWebhook), []string{p.say(i18n.NoWebhookHint)}}
	}
	lang := i18n.Chinese // the readers of DingTalk; the locale of a daemon says nothing about them
	if c.Flag("lang").Changed {
		lang = p.lang
	}
	log := slog.New(serve.Handler(p.stderr, f.log == asJSON, terminal(p.stderr), logs.NewLevels(slog.LevelInfo)))
	relay, err := alertrelay.New(alertrelay.Options{Webhook: webhook, Secret: secret, Lang: lang, Log: log})
	if errors.Is(err, alertrelay.ErrWebhook) {
		return p.misuse(c, p.say(i18n.BadWebhook, from), "")
	}
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(c.Context(), "tcp", f.listen)
	if err != nil {
		if network, ok := errors.AsType[*net.OpError](err); ok {
			err = network.Err
		}
		return &listenError{f.listen, err, i18n.RelayPortHint}
	}
	log.Info("listening", "url", "http://"+l.Addr().String()+"/dingtalk")
	return relay.Run(c.Context(), l)
}

// secretFrom reads a secret from a file, or else from the environment, and names its
// source.
func (p *program) secretFrom(variable, file string) (secret, from string, err error) {
	if file == "" {
		return strings.TrimSpace(p.getenv(variable)), variable, nil
	}
	text, err := os.ReadFile(file)
	return strings.TrimSpace(string(text)), file, err
}
