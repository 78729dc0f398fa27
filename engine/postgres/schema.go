package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlock-go/interlock/engine"
)

// version is the version of the schema that this engine needs. A release that changes a
// table or a function raises it.
const version = 1

// A schema is the name of a schema of the server. It is also the channel of its notices.
type schema string

const defaultSchema schema = "interlock"

var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// check refuses names that would have to be quoted.
func (s schema) check() error {
	if !schemaName.MatchString(string(s)) || strings.HasPrefix(string(s), "pg_") {
		return fmt.Errorf("%q cannot be a schema: use up to 40 lower-case letters, digits and underscores, beginning with a letter", string(s))
	}
	return nil
}

// String returns the name as an identifier.
func (s schema) String() string { return `"` + string(s) + `"` }

// function returns a call of a function with n arguments.
func (s schema) function(name string, n int) string {
	args := make([]string, n)
	for i := range args {
		args[i] = "$" + strconv.Itoa(i+1)
	}
	return "SELECT * FROM " + s.String() + "." + name + "(" + strings.Join(args, ", ") + ")"
}

//go:embed sql/*.sql
var files embed.FS

// sources are the files of a migration, in order. All of them may run again.
var sources = []string{"tables", "common", "locks", "operator", "records", "quotas"}

// sweeps are the tables for which definition repeats sweep.sql, each with the condition under
// which a row x has expired at the time t.
var sweeps = []struct{ table, expired string }{
	{"hold", "x.expires <= t"},
	{"waiter", "x.expires + x.lease <= t"},
	{"ended", "x.expires <= t"},
	{"latch", "x.expires <= t"},
	{"record", "x.expires <= t"},
	{"unit", "x.expires <= t"},
	{"client", "x.expires <= t"},
}

// source returns the text of a file for this schema.
func (s schema) source(name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return strings.NewReplacer("{s}", s.String(), "{channel}", string(s), "{readers}", strconv.Itoa(engine.MaxReaders)).Replace(string(text))
}

// definition returns the statements that create or replace everything in the schema.
func (s schema) definition() string {
	var text, sweep strings.Builder
	for _, x := range sweeps {
		sweep.WriteString(strings.NewReplacer("{table}", x.table, "{expired}", x.expired).Replace(s.source("sweep")))
	}
	for _, name := range sources {
		text.WriteString(s.source(name))
	}
	return strings.Replace(text.String(), "{sweeps}", strings.TrimRight(sweep.String(), "\n"), 1)
}

// Migrate creates the schema of a database, or migrates an older one, and reports whether
// it changed anything. Several processes may call it at the same time. Of the options, only
// [Schema] counts; the URL may name the schema, too.
//
// The user needs the permission CREATE on the database. docs/postgres.md lists what the user
// of the engine needs.
func Migrate(ctx context.Context, url string, opts ...Option) (changed bool, err error) {
	a, err := parse(url)
	if err != nil {
		return false, err
	}
	e := newEngine(append(a.options, opts...)...)
	conn, err := pgx.ConnectConfig(ctx, a.pool.ConnConfig)
	if err != nil {
		return false, e.explain(ctx, &statement{name: "migrate"}, &failure{err: err})
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the transaction has ended
	return migrate(ctx, conn, e.schema)
}

// MigratePool is [Migrate] on a pool.
func MigratePool(ctx context.Context, pool *pgxpool.Pool, opts ...Option) (changed bool, err error) {
	return migrate(ctx, pool, newEngine(opts...).schema)
}

// migrationLock is the key of the advisory lock that lets one process migrate at a time.
const migrationLock = 0x696e7465726c6f63

// migrate runs in one transaction, so that a failure leaves the schema as it was.
func migrate(ctx context.Context, db interface {
	BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error)
}, s schema,
) (changed bool, err error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return false, fmt.Errorf("postgres: migrate: %w", err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if _, err := tx.Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", migrationLock)); err != nil {
		return false, fmt.Errorf("postgres: migrate: %w", err)
	}
	found, err := s.installed(ctx, tx)
	switch {
	case err != nil:
		return false, fmt.Errorf("postgres: migrate: %w", err)
	case found == version:
		return false, nil
	case found > version:
		return false, s.versionError(found)
	}
	// Several statements in one string need the simple protocol.
	if _, err := tx.Conn().PgConn().Exec(ctx, s.creation(found)+s.definition()+s.stamp()).ReadAll(); err != nil {
		return false, fmt.Errorf("postgres: migrate schema %s: %w", s, migrationHint(err))
	}
	if err := tx.Commit(ctx); err != nil {
		return false, fmt.Errorf("postgres: migrate schema %s: %w", s, err)
	}
	return true, nil
}

// installed returns the version of the schema, or zero.
func (s schema) installed(ctx context.Context, tx pgx.Tx) (found int64, err error) {
	var exists bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", s.String()+".meta").Scan(&exists); err != nil || !exists {
		return 0, err
	}
	err = tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM "+s.String()+".meta").Scan(&found)
	return found, err
}

// creation returns the statement that creates the schema if it does not exist. If an
// administrator has created it, the user does not need CREATE on the database.
func (s schema) creation(found int64) string {
	if found > 0 {
		return ""
	}
	return fmt.Sprintf("DO $do$ BEGIN IF to_regnamespace('%[1]v') IS NULL THEN CREATE SCHEMA %[1]v; END IF; END $do$;\n", s)
}

// stamp records the version.
func (s schema) stamp() string {
	return fmt.Sprintf("DELETE FROM %[1]v.meta; INSERT INTO %[1]v.meta VALUES (%[2]d);\n", s, version)
}

// migrationHint adds what to do about a missing permission.
func migrationHint(err error) error {
	var reply *pgconn.PgError
	if errors.As(err, &reply) && reply.Code == "42501" {
		return fmt.Errorf("the user may not create it: migrate as the owner of the database, or GRANT CREATE ON DATABASE: %w", err)
	}
	return err
}

var errSchema = errors.New("the schema does not fit this program")

// versionError explains a schema of another version.
func (s schema) versionError(found int64) error {
	if found < version {
		return failureOf(fmt.Sprintf("postgres: schema %s has version %d, and this program needs %d: run interlock engine migrate URL", s, found, version), errSchema)
	}
	return failureOf(fmt.Sprintf("postgres: schema %s has version %d, and this program knows %d: upgrade the program", s, found, version), errSchema)
}

// missingError explains a schema that does not exist.
func (s schema) missingError(cause error) error {
	return failureOf(fmt.Sprintf("postgres: schema %s is missing or incomplete: run interlock engine migrate URL, or use AutoMigrate: %v", s, cause), errSchema, cause)
}
