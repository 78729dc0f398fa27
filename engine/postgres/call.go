package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlock-go/interlock/engine"
)

// maxTries is how often a call is sent that fails because of concurrent transactions.
const maxTries = 5

// A statement is one call to the server.
type statement struct {
	name string // for observers and errors
	key  string // for errors; may be empty
	sql  string
	args []any
	scan func(pgx.Rows) error // reads one row; nil if none counts

	locked func() bool // reports whether the answer says that another transaction has locked the key; may be nil
}

// A failure is an error of a call, and how far the call got.
type failure struct {
	err      error
	sent     bool // the statement may have reached the server
	answered bool // a row has arrived
	crowded  bool // no connection was free
	explicit bool // sendOn wrapped the call in BEGIN and COMMIT
}

// call returns a call of a function of the schema.
func (e *Engine) call(name, key string, args ...any) *statement {
	return &statement{name: name, key: key, sql: e.schema.function(name, len(args)), args: args}
}

// row runs a call whose answer is one row.
func (e *Engine) row(ctx context.Context, s *statement, into ...any) error {
	found := false
	s.scan = func(r pgx.Rows) error {
		found = true
		return r.Scan(into...)
	}
	err := e.run(ctx, s)
	if err == nil && !found {
		return fail(s, "the answer has no row", engine.ErrUnknown)
	}
	return err
}

// run runs a call within the timeout and reports it to the observers. It repeats a call that
// had no effect because of concurrent transactions.
func (e *Engine) run(ctx context.Context, s *statement) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if err := e.checkSchema(limited, ctx); err != nil {
		return err
	}
	began := time.Now()
	f := e.patient(limited, s)
	if e.calls.Active() {
		// Observers see the meaning of an error, but no key.
		e.calls.Call(engine.ServerCall{Operation: s.name, Node: e.addr, Took: time.Since(began), Err: e.explain(ctx, &statement{name: s.name}, f)})
	}
	return e.explain(ctx, s, f)
}

// usable returns an error if ctx is done or the engine is closed.
func (e *Engine) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.closed.Load() {
		return errClosed
	}
	return nil
}

// The pauses between two looks at a key that another transaction has locked double from
// minPause to maxPause.
const (
	minPause = 5 * time.Millisecond
	maxPause = 50 * time.Millisecond
)

// patient repeats a call while another transaction has locked its key, for half of the timeout.
// That transaction may be a caller's, and long. A call that waited for it on the server would
// keep a connection from all others, such as renewals.
func (e *Engine) patient(ctx context.Context, s *statement) *failure {
	end := time.Now().Add(e.timeout / 2)
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		f := e.repeated(ctx, s)
		if f != nil || s.locked == nil || !s.locked() || !time.Now().Before(end) {
			return f
		}
		select {
		case <-ctx.Done():
			return &failure{err: ctx.Err()}
		case <-time.After(min(pause/2+rand.N(pause), time.Until(end))):
		}
	}
}

// repeated sends a call until it succeeds or a repetition cannot help.
func (e *Engine) repeated(ctx context.Context, s *statement) *failure {
	for try := 1; ; try++ {
		f := e.send(ctx, s)
		if f == nil || try == maxTries || ctx.Err() != nil || !e.repeats(f) {
			return f
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(try) * rand.N(10*time.Millisecond)):
		}
	}
}

// repeats reports whether a call had no effect and may succeed if it is repeated.
func (e *Engine) repeats(f *failure) bool {
	var reply *pgconn.PgError
	if !errors.As(f.err, &reply) || fatal(reply) {
		return false
	}
	switch reply.Code {
	case wrongIsolation:
		// The server's default has another isolation than the functions need.
		e.explicit.Store(true)
		return !f.explicit
	case "40001", "40P01": // serialization failure, deadlock
		return true
	case "23505": // two calls created the same row; the second one will find it
		return true
	case "0A000": // the schema was migrated under a prepared statement, which pgx forgets now
		return true
	}
	return false
}

// wrongIsolation is raised by the functions; see enter in common.sql.
const wrongIsolation = "IL001"

// send sends a call once.
func (e *Engine) send(ctx context.Context, s *statement) *failure {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		stat := e.pool.Stat()
		return &failure{err: err, crowded: stat.AcquiredConns() >= stat.MaxConns()}
	}
	f := e.sendOn(ctx, conn, s)
	defer e.giveBack(conn)
	var reply *pgconn.PgError
	// The server was demoted. The next connection may find the new primary.
	if f != nil && errors.As(f.err, &reply) && reply.Code == "25006" {
		_ = conn.Conn().Close(ctx)
		if e.owned {
			e.pool.Reset()
		}
	}
	return f
}

// giveBack returns a connection to the pool. A broken one is taken out of the pool at once:
// closing it takes as long as the server needs to answer that the call is cancelled, and
// would occupy its place for so long.
func (e *Engine) giveBack(conn *pgxpool.Conn) {
	if !conn.Conn().IsClosed() {
		conn.Release()
		return
	}
	broken := conn.Hijack().PgConn()
	e.background.Go(func() { <-broken.CleanupDone() }) // ends within 15s, see package pgconn; Close waits
}

// sendOn sends a call on a connection.
func (e *Engine) sendOn(ctx context.Context, conn *pgxpool.Conn, s *statement) *failure {
	if e.explicit.Load() {
		f := s.sendIn(ctx, conn)
		if f != nil {
			f.explicit = true
		}
		return f
	}
	rows, err := conn.Query(ctx, s.sql, s.args...)
	if err != nil {
		// The statement could not be prepared, so it was not executed. The simple protocol
		// prepares none: there the reply may be lost.
		return &failure{err: err, sent: conn.Conn().Config().DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol}
	}
	return s.read(rows)
}

// read reads the rows of the answer.
func (s *statement) read(rows pgx.Rows) *failure {
	defer rows.Close()
	f := &failure{sent: true}
	for rows.Next() {
		f.answered = true
		if s.scan == nil {
			continue
		}
		if f.err = s.scan(rows); f.err != nil {
			return f
		}
	}
	rows.Close()
	if f.err = rows.Err(); f.err == nil {
		return nil
	}
	f.sent = !pgconn.SafeToRetry(f.err)
	return f
}

// sendIn sends a call between BEGIN and COMMIT, in one round trip. The transactions of the
// user or the database have another isolation by default.
func (s *statement) sendIn(ctx context.Context, conn *pgxpool.Conn) *failure {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	batch.Queue(s.sql, s.args...)
	batch.Queue("COMMIT")
	results := conn.SendBatch(ctx, batch)
	defer results.Close() //nolint:errcheck // closed below, unless an earlier step failed
	// Package pgx says that it is safe to retry even if the reply to the batch was lost.
	if _, err := results.Exec(); err != nil {
		return &failure{err: err, sent: true}
	}
	rows, err := results.Query()
	if err != nil {
		return &failure{err: err, sent: true}
	}
	if f := s.read(rows); f != nil {
		return f
	}
	_, err = results.Exec()
	if closed := results.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return &failure{err: err, sent: true, answered: true}
	}
	return nil
}

// checkSchema checks the version of the schema, once. limited is ctx with the timeout.
func (e *Engine) checkSchema(limited, ctx context.Context) error {
	if e.checked.Load() {
		return nil
	}
	s := &statement{name: "version", sql: "SELECT coalesce(max(version), 0) FROM " + e.schema.String() + ".meta"}
	// One call checks for all, and the others wait no longer than they may.
	select {
	case e.checking <- struct{}{}:
		defer func() { <-e.checking }()
	case <-limited.Done():
		return e.explain(ctx, s, &failure{err: limited.Err()})
	}
	if e.checked.Load() {
		return nil
	}
	var found int64
	s.scan = func(r pgx.Rows) error { return r.Scan(&found) }
	f := e.repeated(limited, s)
	if e.migrates && (f == nil && found < version || f != nil && missing(f.err)) {
		_, err := migrate(limited, e.pool, e.schema)
		if err != nil && limited.Err() != nil {
			return e.explain(ctx, &statement{name: "migrate"}, &failure{err: err})
		}
		if err != nil {
			return err
		}
		found, f = version, nil
	}
	switch {
	case f != nil:
		f.sent = false // it changes nothing, so its outcome is never unknown
		return e.explain(ctx, s, f)
	case found != version:
		return e.schema.versionError(found)
	}
	e.checked.Store(true)
	return nil
}
