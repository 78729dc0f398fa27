package site

import (
	"fmt"

	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
)

// buildGateway creates the gateway of the configuration, and the admin API that the page
// uses.
func (s *Site) buildGateway(o Options) error {
	// The same parser as for serve, so that the printed file is the one in use.
	cfg, errs := config.Parse("demo.yaml", []byte(s.Config))
	if len(errs) > 0 {
		return fmt.Errorf("the demo's own configuration: %w", errs)
	}
	// The API first: the gateway publishes its requests there.
	api, err := admin.New(admin.Options{
		Client: s.client, Engine: o.Engine, Config: &config.Admin{Listen: cfg.Listen, Open: true}, Log: o.Log,
		Rules: func() *config.Config { return cfg },
	})
	if err != nil {
		return err
	}
	gate, err := gateway.New(cfg, gateway.Options{Client: s.client, Log: o.Log, Events: func(e gateway.Event) { api.Publish("request", e) }})
	if err != nil {
		return err
	}
	s.gate, s.api = gate, api
	return nil
}
