package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/backend"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// migrateTimeout limits a migration. It waits for a migration of another process.
const migrateTimeout = time.Minute

// engines groups the commands for an engine's server.
func (p *program) engines() *cobra.Command {
	c := p.group("engine", i18n.AboutEngine)
	c.Example = "  interlock engine migrate postgres://admin@localhost:5432/shop"
	c.AddCommand(p.migrate())
	return c
}

// migrate is "engine migrate". The URL is an argument or --engine.
func (p *program) migrate() *cobra.Command {
	var url string
	c := &cobra.Command{
		Use: "migrate [flags] [URL]", Short: p.say(i18n.AboutMigrate), Long: p.say(i18n.AboutMigrateLong),
		Example: "  interlock engine migrate postgres://admin@localhost:5432/shop\n" +
			"  interlock engine migrate 'postgres://admin@localhost:5432/shop?schema=locks'\n" +
			"  interlock engine migrate mysql://admin@localhost:3306/shop",
		Args: p.atMostOne,
		RunE: func(c *cobra.Command, args []string) error { return p.runMigrate(c, url, args) },

		DisableFlagsInUseLine: true, // Use already lists the flags
	}
	p.engineFlag(c, &url)
	return c
}

// runMigrate migrates, and says what it has done. Engines without a schema are not
// contacted.
func (p *program) runMigrate(c *cobra.Command, url string, args []string) error {
	from := "--engine"
	switch {
	case len(args) == 1 && c.Flag("engine").Changed:
		return p.misuse(c, p.say(i18n.MigrateBoth), "")
	case len(args) == 1:
		url, from = args[0], p.say(i18n.TheArgument)
	case !c.Flag("engine").Changed:
		url, from = p.getenv(engineVariable), engineVariable
	}
	if url == "" {
		return p.misuse(c, p.say(i18n.MigrateMissing, engineVariable), "")
	}
	if !backend.Known(url) {
		return p.notEngineURL(c, url, from)
	}
	if !backend.Migrates(url) {
		return p.print([]string{p.say(i18n.MigrateNothing, backend.Name(url))})
	}
	ctx, cancel := context.WithTimeout(c.Context(), migrateTimeout)
	defer cancel()
	changed, err := backend.Migrate(ctx, url)
	switch {
	case err != nil && c.Context().Err() != nil:
		return context.Cause(c.Context())
	case err != nil && (unreachable(err) || ctx.Err() != nil):
		return &engineRequiredError{&unreachableError{from, err}}
	case err != nil:
		return err
	}
	said := i18n.MigrateUnchanged
	if changed {
		said = i18n.Migrated
	}
	return p.print([]string{p.say(said, fmt.Sprint(backend.Name(url), " ", host(url)))})
}

// notEngineURL reports an address that no engine has. The text does not contain the address,
// which may hold a password.
func (p *program) notEngineURL(c *cobra.Command, url, from string) error {
	return p.misuse(c, p.say(i18n.NotEngineURL, from), backend.Meant(url))
}
