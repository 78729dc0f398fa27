package mysql

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// version is the version of the schema that this engine needs. A release that changes a
// table raises it.
const version = 1

//go:embed sql/schema.sql
var schemaText string

var errSchema = errors.New("the schema does not fit this program")

// Migrate creates the tables of the engine, or migrates older ones, and reports whether it
// changed anything. Several processes may call it at the same time. Of the options, only
// [Prefix] counts; the URL may name the prefix, too.
//
// The user needs the permissions CREATE, CREATE VIEW, DROP and ALTER on the database.
// docs/mysql.md lists what the user of the engine needs.
func Migrate(ctx context.Context, url string, opts ...Option) (changed bool, err error) {
	a, err := parse(url)
	if err != nil {
		return false, err
	}
	for _, opt := range opts {
		opt(&a.settings)
	}
	a.timeout = max(a.timeout, migrationTimeout)
	e := newEngine(a)
	if err := e.connect(a); err != nil {
		return false, err
	}
	defer e.Close() //nolint:errcheck // it returns none
	return e.migrate(ctx)
}

// migrationTimeout is how long a migration waits for another one.
const migrationTimeout = 30_000_000_000 // 30s

// migrate creates or migrates the tables. The server commits each statement that creates a
// table by itself, so the version is written last: a migration that fails is repeated.
func (e *Engine) migrate(ctx context.Context) (changed bool, err error) {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return false, e.explain(ctx, attempt{operation: "migrate", err: err})
	}
	defer conn.Close() //nolint:errcheck // it only returns the connection
	lock := "interlock:" + e.prefix
	var locked sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(CONCAT(LEFT(?, 30), LEFT(DATABASE(), 30)), ?)", lock, int64(migrationTimeout/1e9)).Scan(&locked); err != nil {
		return false, e.explain(ctx, attempt{operation: "migrate", err: err})
	}
	if locked.Int64 != 1 {
		return false, errors.New("mysql: migrate: another process migrates the tables and does not end: look for it with SHOW PROCESSLIST")
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "SELECT RELEASE_LOCK(CONCAT(LEFT(?, 30), LEFT(DATABASE(), 30)))", lock) //nolint:errcheck // it ends with the connection
	found, err := e.installed(ctx, conn)
	switch {
	case err != nil:
		return false, e.explain(ctx, attempt{operation: "migrate", err: err})
	case found == version:
		return false, nil
	case found > version:
		return false, e.versionError(found)
	}
	if _, err := conn.ExecContext(ctx, e.definition()); err != nil {
		return false, fmt.Errorf("mysql: migrate the tables with the prefix %s: %w", e.prefix, migrationHint(err))
	}
	return true, nil
}

// definition returns the statements that create everything.
func (e *Engine) definition() string {
	var lines []string
	for line := range strings.Lines(schemaText) {
		code, _, _ := strings.Cut(line, "--")
		lines = append(lines, strings.TrimRight(code, " \n"))
	}
	return e.sql(strings.Join(lines, "\n") + fmt.Sprintf("\nINSERT INTO {p}meta VALUES (1, %d, UUID()) ON DUPLICATE KEY UPDATE version = %[1]d", version))
}

// migrationHint adds what to do about a missing permission.
func migrationHint(err error) error {
	if slices.Contains([]uint16{1044, 1142, 1227}, number(err)) {
		return fmt.Errorf("the user may not create the tables: GRANT CREATE, CREATE VIEW, DROP, ALTER, SELECT, INSERT, UPDATE on the database: %w", err)
	}
	return err
}

// installed returns the version of the schema, or zero.
func (e *Engine) installed(ctx context.Context, q querier) (found int64, err error) {
	rows, err := q.QueryContext(ctx, e.sql("SELECT version, @@max_allowed_packet, @@innodb_rollback_on_timeout FROM {p}meta"))
	if missing(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer rows.Close() //nolint:errcheck // Err has its error
	var (
		packet            int64
		rollbackOnTimeout bool
	)
	for rows.Next() {
		if err := rows.Scan(&found, &packet, &rollbackOnTimeout); err != nil {
			return 0, err
		}
	}
	e.packet.Store(min(packet, maxPacket))
	e.rollbackOnTimeout.Store(rollbackOnTimeout)
	return found, rows.Err()
}

// checkSchema checks the version of the schema, once. limited is ctx with the timeout.
func (e *Engine) checkSchema(limited, ctx context.Context) error {
	if e.checked.Load() {
		return nil
	}
	// One call checks for all, and the others wait no longer than they may.
	select {
	case e.checking <- struct{}{}:
		defer func() { <-e.checking }()
	case <-limited.Done():
		return e.explain(ctx, attempt{operation: "version", err: limited.Err()})
	}
	if e.checked.Load() {
		return nil
	}
	var found int64
	err := e.observe(ctx, "version", func() (err error) {
		conn, err := e.conn(limited)
		if err != nil {
			return err
		}
		defer giveBack(conn, true)
		found, err = e.installed(limited, conn)
		return err
	})
	if err != nil {
		return e.explain(ctx, attempt{operation: "version", err: err})
	}
	if e.migrates && found < version {
		if _, err := e.migrate(limited); err != nil {
			return err
		}
		if found, err = e.installed(limited, e.db); err != nil {
			return e.explain(ctx, attempt{operation: "version", err: err})
		}
	}
	if found != version {
		return e.versionError(found)
	}
	e.checked.Store(true)
	return nil
}

// versionError explains a schema of another version.
func (e *Engine) versionError(found int64) error {
	switch {
	case found == 0:
		return fmt.Errorf("mysql: the tables with the prefix %s are missing: run interlock engine migrate URL, or use AutoMigrate: %w", e.prefix, errSchema)
	case found < version:
		return fmt.Errorf("mysql: the tables with the prefix %s have version %d, and this program needs %d: run interlock engine migrate URL: %w", e.prefix, found, version, errSchema)
	}
	return fmt.Errorf("mysql: the tables with the prefix %s have version %d, and this program knows %d: upgrade the program: %w", e.prefix, found, version, errSchema)
}
