package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/interlock-go/interlock/engine"
)

var errClosed = fmt.Errorf("postgres: %w: it was used after Close", engine.ErrClosed)

// An explained error has its own text and matches all its causes.
type explained struct {
	text   string
	causes []error
}

func (x *explained) Error() string   { return x.text }
func (x *explained) Unwrap() []error { return x.causes }

// failureOf returns an error with a text and causes, which may be nil.
func failureOf(text string, causes ...error) error {
	return &explained{text, slices.DeleteFunc(causes, func(err error) bool { return err == nil })}
}

// fail returns an error about the key of a call.
func fail(s *statement, text string, causes ...error) error {
	subject := "postgres: " + s.name
	if s.key != "" {
		subject += fmt.Sprintf(" %q", s.key)
	}
	return failureOf(subject+": "+text, causes...)
}

// lockedError is the error of a key that a caller's transaction has locked.
func lockedError(s *statement) error {
	return fail(s, "another transaction has locked the key and has not ended, so nothing was done: retry later, and keep such transactions short",
		engine.ErrUnavailable)
}

// explain returns the error of a call. The text says whether the call may have taken effect,
// and what to do.
func (e *Engine) explain(ctx context.Context, s *statement, f *failure) error {
	if f == nil {
		return nil
	}
	f.err = ownTimeout(ctx, f.err)
	var reply *pgconn.PgError
	switch {
	case errors.As(f.err, &reply) && !f.lost(reply):
		return e.explainReply(s, reply, f.err)
	case !f.sent:
		return notSent(ctx, s, f)
	}
	causes := []error{engine.ErrUnknown, f.err}
	// Callers look for their own context error, as well as for ErrUnknown.
	if done := ctx.Err(); done != nil {
		causes = append(causes, done, context.Cause(ctx))
	}
	return fail(s, fmt.Sprintf("no answer, so it may have taken effect: %v", f.err), causes...)
}

// lost reports whether a call may have taken effect although the server reports an error. A
// transaction that failed has no effect. But a connection that the server ends after the
// answer may have committed, and a pooler that has lost the server knows nothing.
func (f *failure) lost(reply *pgconn.PgError) bool {
	return fatal(reply) && (f.answered || f.sent && strings.HasPrefix(reply.Code, "08"))
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

// notSent explains why a call was not sent. A caller whose context has ended gets that error,
// not one about the server.
func notSent(ctx context.Context, s *statement, f *failure) error {
	switch {
	case ctx.Err() != nil:
		return fail(s, fmt.Sprintf("the context ended before the call was sent: %v", context.Cause(ctx)), ctx.Err(), context.Cause(ctx), f.err)
	case f.crowded:
		return fail(s, fmt.Sprintf("no connection of the pool became free in time, so nothing was sent: raise pool_max_conns: %v", f.err), engine.ErrOverloaded, f.err)
	}
	return fail(s, fmt.Sprintf("cannot reach the server, so nothing was done: %v", f.err), engine.ErrUnavailable, f.err)
}

// fatal reports whether the server ended the connection with an error.
func fatal(reply *pgconn.PgError) bool {
	return reply.SeverityUnlocalized == "FATAL" || reply.SeverityUnlocalized == "PANIC" || reply.Severity == "FATAL" || reply.Severity == "PANIC"
}

// A meaning says what an error of the server means.
type meaning struct {
	err  error  // nil if a retry cannot help
	hint string // advice
}

// meanings has the meaning of a SQLSTATE, or of a class of two characters.
var meanings = map[string]meaning{
	"08":    {engine.ErrUnavailable, "the connection failed"},
	"08P01": {nil, "the pooler or server does not understand the call: behind a pooler, set listen=off, or listen to the URL of a direct connection"},
	"25006": {engine.ErrUnavailable, "the server is read-only, as a replica is: connect to the primary, or name all hosts in the URL"},
	"25P03": {engine.ErrUnavailable, "the server ended a transaction: idle_in_transaction_session_timeout may be too short"},
	"25P04": {engine.ErrUnavailable, "the server ended the call: transaction_timeout may be too short"},
	"28":    {nil, "the server refuses the user or the password"},
	"3D000": {nil, "the database does not exist: create it, or correct the URL"},
	"40":    {engine.ErrUnavailable, "concurrent transactions prevented the call: retry"},
	"42501": {nil, "the user lacks a permission that docs/postgres.md lists: GRANT USAGE ON SCHEMA, and SELECT, INSERT, UPDATE, DELETE ON ALL TABLES and USAGE, SELECT ON ALL SEQUENCES IN SCHEMA"},
	"42P05": {nil, "a pooler mixes prepared statements: set listen=off, or listen to the URL of a direct connection"},
	"26000": {nil, "a pooler loses prepared statements: set listen=off, or listen to the URL of a direct connection"},
	"42704": {nil, "the server does not know a parameter of the URL"},
	"53100": {engine.ErrFull, "the disk of the server is full"},
	"53200": {engine.ErrOverloaded, "the server has too little memory: raise max_locks_per_transaction if its message names locks"},
	"53300": {engine.ErrOverloaded, "the server accepts no more connections: raise max_connections, lower pool_max_conns, or use a pooler"},
	"53":    {engine.ErrOverloaded, "the server lacks resources"},
	"54000": {engine.ErrOverloaded, "a limit of the server is reached: if its message names NOTIFY, another program listens in a transaction that does not end"},
	"55P03": {engine.ErrUnavailable, "another transaction has locked a row for longer than lock_timeout"},
	"57014": {engine.ErrUnavailable, "the server cancelled the call: statement_timeout may be too short"},
	"57":    {engine.ErrUnavailable, "the server is stopping, starting or recovering"},
	"58":    {engine.ErrUnavailable, "the server has a problem with its disk"},
}

// meaningOf returns the meaning of a SQLSTATE, if it is known.
func meaningOf(code string) (m meaning, ok bool) {
	if m, ok = meanings[code]; !ok && len(code) == 5 {
		m, ok = meanings[code[:2]]
	}
	return m, ok
}

// missing reports whether an error means that the schema or a part of it does not exist.
func missing(err error) bool {
	var reply *pgconn.PgError
	return errors.As(err, &reply) && slices.Contains([]string{"3F000", "42P01", "42883"}, reply.Code)
}

// explainReply explains an error of the server. Its transaction had no effect.
func (e *Engine) explainReply(s *statement, reply *pgconn.PgError, err error) error {
	if missing(err) {
		e.checked.Store(false) // the next call checks again
		return e.schema.missingError(err)
	}
	m, ok := meaningOf(reply.Code)
	// Pgbouncer has one code for all its errors. This one is permanent.
	if reply.Code == "08P01" && fatal(reply) && !strings.HasPrefix(reply.Message, "unsupported startup parameter") {
		m = meaning{engine.ErrUnavailable, "the pooler cannot reach the server, or has no connection free"}
	}
	if !ok {
		return fail(s, err.Error(), err)
	}
	return fail(s, fmt.Sprintf("%s: %v", m.hint, err), m.err, err)
}

// hostPort returns the address of a server without its database and user.
func hostPort(c *pgx.ConnConfig) string {
	if strings.HasPrefix(c.Host, "/") { // the directory of a Unix socket
		return c.Host
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}
