package backend

import (
	"context"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/mysql"
)

func openMySQL(ctx context.Context, url string, lazy bool) (Engine, error) {
	return opened(mysql.Open(ctx, url, with(lazy, mysql.Lazy)...))
}

func probeMySQL(ctx context.Context, url string) (engine.Health, error) {
	return of(engine.MySQL)(mysql.Probe(ctx, url))
}

func migrateMySQL(ctx context.Context, url string) (changed bool, err error) {
	return mysql.Migrate(ctx, url)
}
