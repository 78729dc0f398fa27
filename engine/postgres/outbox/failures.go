package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A Failure is a message that could not be sent so far.
type Failure struct {
	Message
	Text  string // the latest error
	Aside bool   // it is not sent again until [Outbox.Retry]
}

// Failures returns the messages that have failed and were not sent yet, the oldest first, at
// most limit.
func (o *Outbox) Failures(ctx context.Context, limit int) ([]Failure, error) {
	rows, err := o.pool.Query(ctx, `SELECT number, id, topic, key, body, header, added, attempts, error, due = 'infinity'
		FROM `+o.table+` WHERE attempts > 0 ORDER BY number LIMIT $1`, limit)
	if err == nil {
		var all []Failure
		all, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (f Failure, err error) {
			err = r.Scan(&f.number, &f.ID, &f.Topic, &f.Key, &f.Body, &f.Header, &f.Added, &f.Attempts, &f.Text, &f.Aside)
			return f, err
		})
		if err == nil {
			return all, nil
		}
	}
	return nil, fmt.Errorf("outbox: list the failures in %s: %w", o.table, err)
}

// Retry sends a message again at once, as if it were new. It reports whether there is one
// with that ID.
func (o *Outbox) Retry(ctx context.Context, id string) (bool, error) {
	return o.change(ctx, "UPDATE "+o.table+" SET attempts = 0, due = '-infinity' WHERE id = $1", id)
}

// Discard removes a message without sending it. It reports whether there is one with that ID.
func (o *Outbox) Discard(ctx context.Context, id string) (bool, error) {
	return o.change(ctx, "DELETE FROM "+o.table+" WHERE id = $1", id)
}

func (o *Outbox) change(ctx context.Context, query, id string) (bool, error) {
	tag, err := o.pool.Exec(ctx, query, id)
	if err != nil {
		return false, fmt.Errorf("outbox: change message %q in %s: %w", id, o.table, err)
	}
	return tag.RowsAffected() > 0, nil
}

// Waiting returns how many messages are not sent yet.
func (o *Outbox) Waiting(ctx context.Context) (n int64, err error) {
	if err := o.pool.QueryRow(ctx, "SELECT count(*) FROM "+o.table).Scan(&n); err != nil {
		return 0, fmt.Errorf("outbox: count the messages in %s: %w", o.table, err)
	}
	return n, nil
}

// classify marks errors of the database that a retry does not heal: a missing table, column
// or permission (class 42), or a missing schema.
func classify(err error) error {
	var reply *pgconn.PgError
	if errors.As(err, &reply) && (strings.HasPrefix(reply.Code, "42") || reply.Code == "3F000") {
		return &permanentError{fmt.Errorf("%w: create the table with Migrate, and let the user read and write it", err)}
	}
	return err
}
