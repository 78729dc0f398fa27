package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/interlock-go/interlock/engine"
)

// Open connects to the server that a URL names:
//
//	mysql://user:password@host:3306/db?timeout=2s
//
// mariadb:// is the same. Optional parameters, with their defaults:
//
//	timeout  how long a call may take (2s)
//	poll     see [Poll] (50ms)
//	pool     see [Pool] (8)
//	prefix   see [Prefix] (interlock_)
//	tls      true, skip-verify, preferred or false (false)
//	lazy     true or false, see [Lazy]
//	migrate  true or false, see [AutoMigrate]
//
// Options override parameters.
func Open(ctx context.Context, url string, opts ...Option) (*Engine, error) {
	a, err := parse(url)
	if err != nil {
		return nil, err
	}
	for _, opt := range opts {
		opt(&a.settings)
	}
	e := newEngine(a)
	if err := e.connect(a); err != nil {
		return nil, err
	}
	err = e.ready(ctx)
	// Lazy tolerates a server that is down, but not a wrong password or schema.
	if err != nil && e.lazy && ctx.Err() == nil && engine.Temporary(err) {
		err = nil
	}
	if err != nil {
		_ = e.Close()
		return nil, err
	}
	e.tasks.Start(e.sweepLoop)
	return e, nil
}

// connect makes the pool, which connects when it is used.
func (e *Engine) connect(a *address) error {
	a.config.Timeout = e.timeout
	connector, err := mysqldriver.NewConnector(a.config)
	if err != nil {
		return fmt.Errorf("mysql: %w", err)
	}
	e.db = sql.OpenDB(counting{connector, e.dials, e.timeout})
	e.db.SetMaxOpenConns(e.conns)
	e.db.SetMaxIdleConns(e.conns)
	e.db.SetConnMaxIdleTime(idleLimit / 2)
	return nil
}

// counting counts the connections that were opened, sets their isolation, and ends those
// that take too long.
type counting struct {
	driver.Connector
	opened  *atomic.Uint64
	timeout time.Duration
}

// Connect implements [driver.Connector]. The pool also connects on behalf of no call, so
// without a limit of its own a server that does not answer would keep a slot of the pool.
func (c counting) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c.opened.Add(1)
	// The variable has different names on MySQL and MariaDB, so the URL of the driver cannot
	// set it.
	x, ok := conn.(driver.ExecerContext)
	if !ok {
		err = errors.New("the driver executes no statements")
	} else {
		_, err = x.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// ready makes the first connection and checks the schema.
func (e *Engine) ready(ctx context.Context) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	return e.checkSchema(limited, ctx)
}
