package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/interlock-go/interlock"
)

// Deliver passes each message to send, until ctx is done; then it returns nil. Run it in
// every process: one at a time delivers, under the lock that [Lock] describes. send returns
// nil when the message has arrived; otherwise the message is sent again, after a pause that
// doubles up to ten minutes. The context of send ends if the lock is lost.
//
// While the database or the engine of the client fails, Deliver retries. It returns an error
// if that cannot help.
func (o *Outbox) Deliver(ctx context.Context, client *interlock.Client, send func(context.Context, Message) error) error {
	lock := client.Mutex(interlock.Key("outbox", o.lock), interlock.WithName("outbox"))
	for ctx.Err() == nil {
		err := lock.Do(ctx, func(ctx context.Context) error { return o.deliver(ctx, send) })
		var refused *permanentError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &refused), errors.Is(err, interlock.ErrKey), errors.Is(err, interlock.ErrOption), errors.Is(err, interlock.ErrClosed):
			return fmt.Errorf("outbox: deliver from %s: %w", o.table, err)
		}
		o.log.LogAttrs(ctx, slog.LevelWarn, "outbox: delivery was interrupted and continues", slog.String("table", o.table), slog.Any("error", err))
		o.pause(ctx) // the lock was lost, or a server is down
	}
	return nil
}

// A permanentError is an error of the database that a retry does not heal, such as a missing
// table.
type permanentError struct{ error }

// Unwrap returns the error of the database.
func (e *permanentError) Unwrap() error { return e.error }

// deliver sends messages while the lock is held.
func (o *Outbox) deliver(ctx context.Context, send func(context.Context, Message) error) error {
	for ctx.Err() == nil {
		messages, err := o.due(ctx)
		if err != nil {
			return err
		}
		if len(messages) == 0 {
			o.pause(ctx)
			continue
		}
		if err := o.sendAll(ctx, messages, send); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// pause waits for the next look at the table.
func (o *Outbox) pause(ctx context.Context) {
	timer := time.NewTimer(o.poll)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// due returns the next messages to send. A message waits for earlier ones with its key. All
// messages are compared with one time: otherwise one that becomes due meanwhile would neither
// be returned nor hold back later ones.
func (o *Outbox) due(ctx context.Context) ([]Message, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	rows, err := o.pool.Query(ctx, fmt.Sprintf(`
SELECT number, id, topic, key, body, header, added, attempts FROM %[1]s m
WHERE due <= statement_timestamp() AND (key = '' OR NOT EXISTS (
	SELECT FROM %[1]s e WHERE e.key = m.key AND e.key <> '' AND e.number < m.number AND e.due > statement_timestamp()))
ORDER BY number LIMIT $1`, o.table), o.batch)
	if err != nil {
		return nil, classify(err)
	}
	messages, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (m Message, err error) {
		err = r.Scan(&m.number, &m.ID, &m.Topic, &m.Key, &m.Body, &m.Header, &m.Added, &m.Attempts)
		return m, err
	})
	return messages, classify(err)
}

// sendAll sends messages in order, and records which of them have arrived.
func (o *Outbox) sendAll(ctx context.Context, messages []Message, send func(context.Context, Message) error) (err error) {
	var sent []int64
	held := make(map[string]bool) // keys with a message that failed
	for _, m := range messages {
		if ctx.Err() != nil {
			break
		}
		if held[m.Key] {
			continue
		}
		if err := send(ctx, m); err == nil {
			sent = append(sent, m.number)
			continue
		} else if ctx.Err() != nil { // the lock was lost, so the failure says nothing about the message
			break
		} else if err := o.postpone(ctx, m, err); err != nil {
			return errors.Join(err, o.remove(ctx, sent))
		}
		held[m.Key] = m.Key != ""
	}
	return o.remove(ctx, sent)
}

// remove deletes messages that have arrived. It does so even if the lock was lost: what was
// sent must not be sent again.
func (o *Outbox) remove(ctx context.Context, sent []int64) error {
	if len(sent) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	_, err := o.pool.Exec(ctx, "DELETE FROM "+o.table+" WHERE number = ANY ($1)", sent)
	return classify(err)
}

// callTimeout bounds each call of Deliver to the database. On a connection that is silent, the
// process would otherwise keep the lock and deliver nothing.
const callTimeout = 5 * time.Second

const (
	firstPause = time.Second
	maxPause   = 10 * time.Minute
)

// postpone records a failure, and when to send the message again.
func (o *Outbox) postpone(ctx context.Context, m Message, why error) error {
	m.Attempts++
	o.failed(m, why)
	err := o.recordFailure(ctx, m, why.Error())
	var reply *pgconn.PgError
	// A text that the database cannot store must not block the messages behind this one.
	if errors.As(err, &reply) && strings.HasPrefix(reply.Code, "22") {
		err = o.recordFailure(ctx, m, strconv.QuoteToASCII(why.Error()))
	}
	return classify(err)
}

func (o *Outbox) recordFailure(ctx context.Context, m Message, text string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pause := min(maxPause, firstPause<<min(m.Attempts-1, 20))
	_, err := o.pool.Exec(ctx, "UPDATE "+o.table+` SET attempts = $2::int, error = $3,
		due = CASE WHEN $2::int >= $4::int THEN 'infinity' ELSE clock_timestamp() + $5 * interval '1 microsecond' END WHERE number = $1`,
		m.number, m.Attempts, text, o.attempts, pause.Microseconds())
	return err
}
