package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/interlock-go/interlock/engine"
)

// A server that ends the connection may do so before the commit or after it.
func TestFatalErrors(t *testing.T) {
	t.Parallel()
	e := newEngine()
	for name, c := range map[string]struct {
		severity string
		answered bool
		want     error
	}{
		"a connection that the server ends before the answer has done nothing":  {"FATAL", false, engine.ErrUnavailable},
		"a connection that the server ends after the answer may have committed": {"FATAL", true, engine.ErrUnknown},
		"an error after the answer has rolled back":                             {"ERROR", true, engine.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &failure{err: &pgconn.PgError{SeverityUnlocalized: c.severity, Code: "57P01"}, sent: true, answered: c.answered}
			err := e.explain(context.Background(), &statement{name: "acquire"}, f)
			if !errors.Is(err, c.want) || errors.Is(err, engine.ErrUnknown) != errors.Is(c.want, engine.ErrUnknown) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}
