package backend

import (
	"context"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
)

func openPostgres(ctx context.Context, url string, lazy bool) (Engine, error) {
	return opened(postgres.Open(ctx, url, with(lazy, postgres.Lazy)...))
}

func probePostgres(ctx context.Context, url string) (engine.Health, error) {
	return of(engine.PostgreSQL)(postgres.Probe(ctx, url))
}

func migratePostgres(ctx context.Context, url string) (changed bool, err error) {
	return postgres.Migrate(ctx, url)
}
