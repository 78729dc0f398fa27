// Package outbox delivers messages that are written in the same PostgreSQL transaction as
// the work that causes them: a message is sent if the transaction commits, and only then.
//
//	tx, err := pool.Begin(ctx)
//	...
//	err = box.Add(ctx, tx, outbox.Message{Topic: "order.placed", Key: order.ID, Body: body})
//	...
//	err = tx.Commit(ctx)
//
// One process at a time delivers, under an Interlock lock; see [Outbox.Deliver]. If it dies,
// another one continues.
//
// # What is not promised
//
// A message is delivered at least once, not exactly once: a process may die after it has sent
// a message and before it has recorded that. Consumers detect repeats by [Message.ID], for
// example with a guard. Messages without a [Message.Key] may overtake each other.
package outbox

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A Message is sent once its transaction has committed.
type Message struct {
	// ID identifies the message, also when it is sent again. Add sets it if it is empty. A
	// second message with an ID that is still stored is an error.
	ID string

	// Topic says what kind of message it is, or where it goes.
	Topic string

	// Key names the object of the message, such as an order. Messages with the same key are
	// delivered in the order in which they were added: if one fails, later ones wait. An empty
	// key orders nothing. Of transactions that add at the same time, the first to commit may
	// be delivered first; so lock the object's row before you add.
	Key string

	Body   []byte
	Header map[string]string

	// Attempts is how often it was sent before. Add ignores it.
	Attempts int

	// Added is when it was added, by the server's clock. Add ignores it.
	Added time.Time

	number int64 // the order of messages
}

// An Outbox is a table of messages. It is safe for concurrent use.
type Outbox struct {
	pool     *pgxpool.Pool
	table    string
	lock     string
	batch    int
	poll     time.Duration
	attempts int
	failed   func(Message, error)
	log      *slog.Logger
}

// An Option configures [New].
type Option func(*Outbox)

// Table sets the name of the table. Default: "interlock_outbox". It panics unless the name
// consists of at most 40 lower-case letters, digits and underscores, possibly after a schema
// and a dot.
func Table(name string) Option {
	if !tableName.MatchString(name) {
		panic(fmt.Sprintf("outbox: Table(%q): use lower-case letters, digits and underscores, such as interlock_outbox", name))
	}
	return func(o *Outbox) { o.table = name }
}

var tableName = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,39}\.)?[a-z_][a-z0-9_]{0,39}$`)

// Lock sets which lock the delivering process holds: "outbox:" and name. Default: the names of
// the database and the table, such as "shop.interlock_outbox". If databases of the same name
// on several servers share an engine for locks, each needs another name: otherwise only one of
// them is delivered at a time. It panics if name is empty.
func Lock(name string) Option {
	if name == "" {
		panic("outbox: Lock: the name is empty")
	}
	return func(o *Outbox) { o.lock = name }
}

// Batch sets how many messages are read and recorded together. If the process dies, so many
// may be sent again. Default: 100. It panics if n is below 1.
func Batch(n int) Option {
	if n < 1 {
		panic(fmt.Sprintf("outbox: Batch(%d): use 1 or more", n))
	}
	return func(o *Outbox) { o.batch = n }
}

// Poll sets how often an empty table is read again. Default: 500ms. It panics if d is not
// above zero.
func Poll(d time.Duration) Option {
	if d <= 0 {
		panic(fmt.Sprintf("outbox: Poll(%v): use a duration above zero", d))
	}
	return func(o *Outbox) { o.poll = d }
}

// MaxAttempts sets after how many failures a message is set aside, until [Outbox.Retry].
// Later messages with its key wait for it. Default: 20, which is about two hours. It panics
// if n is below 1.
func MaxAttempts(n int) Option {
	if n < 1 {
		panic(fmt.Sprintf("outbox: MaxAttempts(%d): use 1 or more", n))
	}
	return func(o *Outbox) { o.attempts = n }
}

// OnFailure sets a function that is told about every failure to send. Default: none.
func OnFailure(f func(Message, error)) Option { return func(o *Outbox) { o.failed = f } }

// Logger sets where Deliver reports errors of the database and the engine, which it retries.
// Default: slog.Default().
func Logger(l *slog.Logger) Option { return func(o *Outbox) { o.log = l } }

// New returns the outbox of a database. It connects to nothing; see [Outbox.Migrate].
func New(pool *pgxpool.Pool, opts ...Option) *Outbox {
	o := &Outbox{pool: pool, table: "interlock_outbox", batch: 100, poll: 500 * time.Millisecond, attempts: 20}
	for _, opt := range opts {
		opt(o)
	}
	if o.lock == "" {
		o.lock = pool.Config().ConnConfig.Database + "." + o.table
	}
	if o.log == nil {
		o.log = slog.Default()
	}
	if o.failed == nil {
		o.failed = func(Message, error) {}
	}
	return o
}

// Migrate creates the table if it does not exist.
func (o *Outbox) Migrate(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		// Concurrent CREATE IF NOT EXISTS of the same table fail.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", "interlock outbox "+o.table); err != nil {
			return err
		}
		_, err := tx.Conn().PgConn().Exec(ctx, o.definition()).ReadAll()
		return err
	})
	if err != nil {
		return fmt.Errorf("outbox: create the table %s: %w", o.table, err)
	}
	return nil
}

// definition creates the table. A message that is set aside is due at infinity.
func (o *Outbox) definition() string {
	return fmt.Sprintf(`
CREATE TABLE IF NOT EXISTS %[1]s (
	number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id       text NOT NULL UNIQUE,
	topic    text NOT NULL,
	key      text NOT NULL,
	body     bytea NOT NULL,
	header   jsonb NOT NULL,
	added    timestamptz NOT NULL DEFAULT clock_timestamp(),
	due      timestamptz NOT NULL DEFAULT '-infinity',
	attempts int NOT NULL DEFAULT 0,
	error    text NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS %[2]s_key ON %[1]s (key, number) WHERE key <> '';
`, o.table, tableBase(o.table))
}

// tableBase returns a table's name without its schema.
func tableBase(table string) string {
	for i := len(table) - 1; i >= 0; i-- {
		if table[i] == '.' {
			return table[i+1:]
		}
	}
	return table
}

// A Tx is a transaction of package pgx. Add calls neither Commit nor Rollback: they exclude a
// pool and a connection, on which each statement commits by itself.
type Tx interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// Add writes messages in a transaction. After an error, the transaction must be rolled back.
func (o *Outbox) Add(ctx context.Context, tx Tx, messages ...Message) error {
	return o.add(messages, func(query string, args ...any) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

// AddSQL is Add in a transaction of package database/sql, with a driver for PostgreSQL.
func (o *Outbox) AddSQL(ctx context.Context, tx *sql.Tx, messages ...Message) error {
	return o.add(messages, func(query string, args ...any) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

func (o *Outbox) add(messages []Message, exec func(query string, args ...any) error) error {
	for _, m := range messages {
		if m.ID == "" {
			m.ID = rand.Text()
		}
		header, err := json.Marshal(m.Header)
		if err != nil {
			return fmt.Errorf("outbox: add %q: %w", m.ID, err)
		}
		if m.Header == nil {
			header = []byte("{}")
		}
		body := m.Body
		if body == nil {
			body = []byte{} // nil would be NULL
		}
		err = exec("INSERT INTO "+o.table+" (id, topic, key, body, header) VALUES ($1, $2, $3, $4, $5)", m.ID, m.Topic, m.Key, body, string(header))
		if err != nil {
			return fmt.Errorf("outbox: add %q: %w; roll the transaction back", m.ID, err)
		}
	}
	return nil
}
