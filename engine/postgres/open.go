package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlock-go/interlock/engine"
)

// defaultConns is how many connections the pool of Open has. Each call uses one for a round
// trip.
const defaultConns = 8

// Open connects to the server that a URL names:
//
//	postgres://user:password@host:5432/db?timeout=2s&schema=interlock
//
// Optional parameters, with their defaults:
//
//	timeout  how long a call may take (2s)
//	schema   see [Schema] (interlock)
//	listen   off, or the URL of a direct connection, escaped; see [Listen]
//	lazy     true or false, see [Lazy]
//	migrate  true or false, see [AutoMigrate]
//
// The other parameters are those of package pgx, such as sslmode, pool_max_conns (8) and
// target_session_attrs (read-write if there are several hosts). With listen, the engine
// expects a pooler and prepares no statements, unless default_query_exec_mode is given.
//
// Options override parameters.
func Open(ctx context.Context, url string, opts ...Option) (*Engine, error) {
	a, err := parse(url)
	if err != nil {
		return nil, err
	}
	e := newEngine(append(a.options, opts...)...)
	config := a.pool
	if e.listen != "" && !a.mode {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = e.timeout
	}
	config.AfterConnect = readEscaped
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	e.owned = true
	e.use(pool, config.ConnConfig)
	err = e.connect(ctx)
	// Lazy tolerates a server that is down, but not a wrong password or schema.
	if err != nil && e.lazy && ctx.Err() == nil && engine.Temporary(err) {
		err = nil
	}
	if err != nil {
		_ = e.Close()
		return nil, err
	}
	return e, nil
}

// connect makes the first connection and checks the schema.
func (e *Engine) connect(ctx context.Context) error {
	return e.run(ctx, &statement{name: "open", sql: "SELECT 1"})
}

// An address is a parsed URL.
type address struct {
	pool    *pgxpool.Config
	options []Option
	mode    bool // the URL says how to execute statements
}

var errURL = errors.New("postgres: the URL cannot be read: write it like postgres://user:password@host:5432/db, " +
	"with special characters escaped, as %40 for @")

// parse reads a URL. Its errors do not repeat the URL, which may hold a password.
func parse(text string) (*address, error) {
	base, query, _ := strings.Cut(text, "?")
	if !strings.HasPrefix(base, "postgres://") && !strings.HasPrefix(base, "postgresql://") {
		return nil, errURL
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errURL
	}
	a := &address{mode: values.Has("default_query_exec_mode")}
	if err := a.parameters(values); err != nil {
		return nil, fmt.Errorf("postgres: the URL %w", err)
	}
	maxConns := values.Has("pool_max_conns")
	// Package pgx reads a space only as %20.
	query = strings.ReplaceAll(values.Encode(), "+", "%20")
	if a.pool, err = pgxpool.ParseConfig(base + "?" + query); err != nil {
		return nil, fmt.Errorf("%w: %w", errURL, withoutURL(err))
	}
	if !maxConns {
		a.pool.MaxConns = defaultConns
	}
	c := a.pool.ConnConfig
	// Of several hosts, only the primary grants locks.
	if len(c.Fallbacks) > 0 && c.ValidateConnect == nil && strings.Contains(base, ",") {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "interlock"
	}
	return a, nil
}

// withoutURL returns the reason of a parse error, without the URL.
func withoutURL(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		return cause
	}
	return errors.New("a parameter is invalid")
}

// parameters reads the parameters of the engine and removes them, because package pgx would
// send them to the server.
func (a *address) parameters(values url.Values) error {
	for name, read := range map[string]func(string) error{
		"timeout": a.timeout, "schema": a.schema, "listen": a.listen,
		"lazy": a.flag(Lazy), "migrate": a.flag(AutoMigrate),
	} {
		if !values.Has(name) {
			continue
		}
		if err := read(values.Get(name)); err != nil {
			// The value of listen may hold a password.
			return fmt.Errorf("has an invalid %s: %w", name, err)
		}
		values.Del(name)
	}
	return nil
}

func (a *address) timeout(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("it must be a duration above zero, such as 2s")
	}
	a.options = append(a.options, Timeout(d))
	return nil
}

func (a *address) schema(text string) error {
	if err := schema(text).check(); err != nil {
		return err
	}
	a.options = append(a.options, Schema(text))
	return nil
}

func (a *address) listen(text string) error {
	if err := checkListen(text); err != nil {
		return errors.New("it is neither off nor a URL like postgres://host:5432/db")
	}
	a.options = append(a.options, Listen(text))
	return nil
}

// flag returns the reader of a parameter that is true or false.
func (a *address) flag(option func() Option) func(string) error {
	return func(text string) error {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("it must be true or false")
		}
		if on {
			a.options = append(a.options, option())
		}
		return nil
	}
}
