package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/interlock-go/interlock/engine"
)

var errClosed = fmt.Errorf("mysql: %w: it was used after Close", engine.ErrClosed)

// An attempt is one try of a call, and how it failed.
type attempt struct {
	operation string
	key       string // empty if the call is not about one key
	err       error
	sent      bool // the transaction may have committed
}

// The numbers of the server's errors that the engine knows.
const (
	errLockWait = 1205
	errDeadlock = 1213
)

// number returns the number of an error of the server, or zero.
func number(err error) uint16 {
	var reply *mysqldriver.MySQLError
	if errors.As(err, &reply) {
		return reply.Number
	}
	return 0
}

// isLocked reports whether another transaction has locked the row of a key for too long.
// 3572 is the error of NOWAIT on MySQL.
func isLocked(err error) bool { return number(err) == errLockWait || number(err) == 3572 }

// repeats reports whether a transaction that had no effect may succeed if it is repeated.
// patient means that the call may still wait for a locked row.
func repeats(err error, patient bool) bool {
	switch {
	case isLocked(err):
		return patient
	case errors.Is(err, errLeft), errors.Is(err, driver.ErrBadConn), errors.Is(err, mysqldriver.ErrInvalidConn):
		return true // the connection was broken; the next one may work
	}
	// 1020: the row has changed since it was read, on a server with snapshot isolation.
	return slices.Contains([]uint16{errDeadlock, 1020, 1062}, number(err))
}

// without are the errors after which the statements of a change have certainly had no
// effect: the first of them failed, and the server did not execute the rest.
var without = []uint16{
	errLockWait, errDeadlock, 1020, // other transactions
	1021, 1114, // full
	1044, 1142, 1143, 1227, // permissions
	1054, 1146, 1136, 1364, 1406, 1264, // another schema
	1290, 1792, 1836, 3100, // read-only
	1153, 1665, // a large packet; the format of the log
}

// rolledBack reports whether a change has certainly had no effect.
func rolledBack(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || slices.Contains(without, number(err))
}

// A meaning says what an error of the server means.
type meaning struct {
	err  error  // nil if a retry cannot help
	hint string // advice
}

var (
	denied   = meaning{nil, "the user lacks a permission that docs/mysql.md lists: GRANT SELECT, INSERT, UPDATE, DELETE on the tables of the engine"}
	refused  = meaning{nil, "the server refuses the user or the password"}
	readOnly = meaning{engine.ErrUnavailable, "the server is read-only, as a replica is: connect to the primary"}
	crowded  = meaning{engine.ErrOverloaded, "the server accepts no more connections: raise max_connections, or lower pool"}
	busy     = meaning{engine.ErrOverloaded, "the server has too little memory or too many transactions: retry later"}
	notReady = meaning{engine.ErrUnavailable, "the server accepts no statements, as a node of a cluster without its majority does: wait for it, or connect to another one"}
	ending   = meaning{engine.ErrUnavailable, "the server is stopping, or has ended the connection"}
	full     = meaning{engine.ErrFull, "the disk of the server is full"}
)

// meanings has the meaning of an error of the server.
var meanings = map[uint16]meaning{
	1021: full, 1114: full,
	1040: crowded, 1203: crowded, 1226: crowded,
	1037: busy, 1041: busy, 1135: busy, 1637: busy,
	1047: notReady, 3032: notReady,
	1044: denied, 1142: denied, 1143: denied, 1227: denied,
	1045: refused, 1698: refused, 4151: {nil, "the server refuses the user: the account is locked"},
	1049: {nil, "the database does not exist: create it, or correct the URL"},
	1053: ending, 1077: ending, 1079: ending, 1317: ending, 1927: ending, 4031: ending,
	1129: {engine.ErrUnavailable, "the server refuses this host after failed connections: FLUSH HOSTS"},
	1153: {engine.ErrFull, "the server accepts no statement of that size: raise max_allowed_packet, or store large results elsewhere"},
	1205: {engine.ErrUnavailable, "another transaction has locked the key and has not ended, so nothing was done: retry later, and keep such transactions short"},
	3572: {engine.ErrUnavailable, "another transaction has locked the key and has not ended, so nothing was done: retry later, and keep such transactions short"},
	1213: {engine.ErrUnavailable, "concurrent transactions prevented the call: retry"},
	1020: {engine.ErrUnavailable, "concurrent transactions prevented the call: retry"},
	1290: readOnly, 1792: readOnly, 1836: readOnly, 3100: readOnly,
	1665: {nil, "the server logs statements, which needs another isolation: set binlog_format to ROW or MIXED"},
	1969: {engine.ErrUnavailable, "the server cancelled the call: max_statement_time may be too short"},
	3024: {engine.ErrUnavailable, "the server cancelled the call: max_execution_time may be too short"},
}

// missing reports whether an error means that a table does not exist.
func missing(err error) bool { return slices.Contains([]uint16{1146, 1356}, number(err)) }

// about begins the text of an error.
func about(operation, key string) string {
	if key == "" {
		return "mysql: " + operation
	}
	return fmt.Sprintf("mysql: %s %q", operation, key)
}

// explain returns the error of a call. The text says whether the call may have taken effect,
// and what to do. ctx is the caller's.
func (e *Engine) explain(ctx context.Context, a attempt) error {
	subject := about(a.operation, a.key)
	m, known := meanings[number(a.err)]
	switch {
	case a.sent && ctx.Err() != nil:
		return fmt.Errorf("%s: the context ended before there was an answer, so it may have taken effect: %w: %w: %w", subject, engine.ErrUnknown, cause(ctx), a.err)
	case a.sent:
		return fmt.Errorf("%s: no answer, so it may have taken effect: %w: %w", subject, engine.ErrUnknown, ownTimeout(ctx, a.err))
	case ctx.Err() != nil:
		return fmt.Errorf("%s: the context ended before anything was done: %w: %w", subject, cause(ctx), a.err)
	case missing(a.err):
		e.checked.Store(false) // the next call checks again
		return fmt.Errorf("%s: a table with the prefix %s is missing: run interlock engine migrate URL, or use AutoMigrate: %w: %w", subject, e.prefix, errSchema, a.err)
	case known && m.err != nil:
		return fmt.Errorf("%s: %s: %w: %w", subject, m.hint, m.err, a.err)
	case known:
		return fmt.Errorf("%s: %s: %w", subject, m.hint, a.err)
	case number(a.err) != 0:
		return fmt.Errorf("%s: %w", subject, a.err)
	case e.isClosing():
		return errClosed
	case errors.Is(a.err, errCrowded):
		return fmt.Errorf("%s: no connection of the pool became free in time, so nothing was sent: raise pool: %w: %w", subject, engine.ErrOverloaded, ownTimeout(ctx, a.err))
	}
	return fmt.Errorf("%s: cannot reach the server at %s, so nothing was done: %w: %w", subject, e.addr, engine.ErrUnavailable, ownTimeout(ctx, a.err))
}

// A timeoutError says that the engine's own timeout has passed. It matches no context error,
// so that callers do not take it for their own.
type timeoutError struct{ text string }

func (t *timeoutError) Error() string { return t.text }

// Timeout makes it a timeout for observers; see [engine.ServerCall].
func (t *timeoutError) Timeout() bool { return true }

// ownTimeout replaces a context error that is not the caller's.
func ownTimeout(ctx context.Context, err error) error {
	if ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return &timeoutError{err.Error()}
	}
	return err
}

// endedEarly is the error of a call that ended before anything was sent that may take effect.
func (e *Engine) endedEarly(ctx context.Context, key string) error {
	switch {
	case e.isClosing():
		return errClosed
	case ctx.Err() != nil:
		return fmt.Errorf("mysql: %q: the context ended before anything was done: %w", key, cause(ctx))
	case e.crowded():
		return fmt.Errorf("mysql: %q: no connection of the pool became free within %v, so nothing was sent: raise pool: %w: %w",
			key, e.timeout, engine.ErrOverloaded, errLate)
	}
	return fmt.Errorf("mysql: %q: the server at %s has not answered within %v, so nothing was done: %w: %w", key, e.addr, e.timeout, engine.ErrUnavailable, errLate)
}

// endedLate is the error of a call that ended while its transaction was about to commit.
func (e *Engine) endedLate(ctx context.Context, key, operation string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mysql: %q: the context ended before there was an answer to %s, so it may have taken effect: %w: %w",
			key, operation, engine.ErrUnknown, cause(ctx))
	}
	return fmt.Errorf("mysql: %q: no answer to %s within %v, so it may have taken effect: %w: %w", key, operation, e.timeout, engine.ErrUnknown, errLate)
}

var errLate = &timeoutError{"the engine's timeout has passed"}

// cause returns an error that matches both the error of ctx and its cause.
func cause(ctx context.Context) error {
	if why := context.Cause(ctx); !errors.Is(why, ctx.Err()) {
		return errors.Join(ctx.Err(), why)
	}
	return ctx.Err()
}
