package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	defaultTimeout = 2 * time.Second
	listenOff      = "off"
)

// An Option configures an engine. Each option is also a parameter of the URL of [Open].
type Option func(*Engine)

// Timeout sets how long a call may take before its outcome is unknown. Default: 2s, also
// for a d that is not above zero.
func Timeout(d time.Duration) Option {
	return func(e *Engine) {
		if d <= 0 {
			d = defaultTimeout
		}
		e.timeout = d
	}
}

// Schema sets the schema of the engine's tables and functions. Default: "interlock". It
// panics unless the name consists of at most 40 lower-case letters, digits and underscores,
// and begins with a letter.
func Schema(name string) Option {
	s := schema(name)
	if err := s.check(); err != nil {
		panic("postgres: Schema: " + err.Error())
	}
	return func(e *Engine) { e.schema = s }
}

// Listen sets where notices of releases arrive. Default: on a connection of the engine's own
// to the server.
//
// Behind a pooler in transaction mode, such as pgbouncer, no notice arrives. There use the
// URL of a direct connection, or "off". With "off" the engine has no Notifier: waiters
// poll, and watchers look four times a second. It panics if the URL is invalid.
func Listen(url string) Option {
	if err := checkListen(url); err != nil {
		panic("postgres: Listen: " + err.Error())
	}
	return func(e *Engine) { e.listen = url }
}

func checkListen(url string) error {
	if url == "" || url == listenOff {
		return nil
	}
	if _, err := pgx.ParseConfig(url); err != nil {
		return fmt.Errorf("it is neither off nor a URL like postgres://host:5432/db: %w", err)
	}
	return nil
}

// Lazy lets [Open] succeed while the server is down: the engine connects on a later call,
// and until then its calls fail with [engine.ErrUnavailable]. Use it for the engines of a
// quorum or a standby, so that a process can start while one of them is down.
func Lazy() Option {
	return func(e *Engine) { e.lazy = true }
}

// AutoMigrate lets the first call create the schema, or migrate an older one; see
// [Migrate]. The user must be allowed to.
func AutoMigrate() Option {
	return func(e *Engine) { e.migrates = true }
}
