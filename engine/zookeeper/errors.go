package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
)

var errClosed = fmt.Errorf("zookeeper: %w: it was used after Close", engine.ErrClosed)

// foreignError is the error of a node that another program has written.
func foreignError(key string, err error) error {
	return fmt.Errorf("zookeeper: the node of %q is not one of this engine, and was not changed: use another root: %w (%w)", key, engine.ErrKind, orNone(err))
}

func orNone(err error) error {
	if err == nil {
		return errors.New("no format")
	}
	return err
}

// tooLargeError is the error of a change that needs more than a node can hold.
func tooLargeError(key string, size int) error {
	return fmt.Errorf("zookeeper: %q would need %d bytes, and a node holds %d: store large results elsewhere, or spread waiters over several keys: %w",
		key, size, maxDocument, engine.ErrFull)
}

// failure explains the error of a request that was not answered, or answered with a
// refusal. The text says whether the request may have taken effect. key is empty if the
// request was not about one key.
func failure(key, operation string, err error) error {
	about := ""
	if key != "" {
		about = fmt.Sprintf("%q: ", key)
	}
	switch {
	case errors.Is(err, zk.ErrNoServer):
		return fmt.Errorf("zookeeper: %s%s was not sent, because no server can be reached: %w: %w", about, operation, engine.ErrUnavailable, err)
	case errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrSessionMoved):
		return fmt.Errorf("zookeeper: %s%s was refused, because the session has ended; the next call opens a new one: %w: %w", about, operation, engine.ErrUnavailable, err)
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed), errors.Is(err, zk.ErrInvalidACL):
		return fmt.Errorf("zookeeper: %s%s was refused, because the user lacks a permission: check the user in the URL, and the ACL of the root: %w", about, operation, err)
	case isCode(err, quotaExceeded):
		return fmt.Errorf("zookeeper: %s%s was refused, because a quota of the servers is exceeded: raise the quota of the root: %w: %w", about, operation, engine.ErrFull, err)
	case isCode(err, throttled):
		return fmt.Errorf("zookeeper: %s%s was refused, because the server has too many requests: %w: %w", about, operation, engine.ErrOverloaded, err)
	case isCode(err, saslRequired):
		return fmt.Errorf("zookeeper: %s%s was refused, because the servers require authentication: set a user in the URL and allow the scheme digest in enforce.auth.schemes, "+
			"or end sessionRequireClientSASLAuth: %w", about, operation, err)
	}
	return fmt.Errorf("zookeeper: %sno answer to %s, so it may have taken effect: %w: %w", about, operation, engine.ErrUnknown, err)
}

// Codes of servers from 3.7 on that the client library has no names for. The request had no
// effect.
const (
	saslRequired  = -124
	quotaExceeded = -125
	throttled     = -127
)

// isCode reports whether err is the answer with a code that the library has no name for.
func isCode(err error, code int) bool {
	return err != nil && err.Error() == fmt.Sprint("unknown error: ", code)
}

// isRefusal reports whether a server has refused a request, so that it had no effect. Conflicts
// are not refusals.
func isRefusal(err error) bool {
	return errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrAuthFailed) || errors.Is(err, zk.ErrInvalidACL) ||
		isCode(err, saslRequired) || isCode(err, quotaExceeded) || isCode(err, throttled)
}

// readFailure is failure for a request that changes nothing: it has had no effect.
func readFailure(key string, err error) error {
	if errors.Is(err, engine.ErrUnknown) {
		return fmt.Errorf("zookeeper: %q: the read before the change was not answered, so nothing has changed: %w (%v)", key, engine.ErrUnavailable, err) //nolint:errorlint // it must not match ErrUnknown
	}
	return err
}

// endedEarly is the error of a call whose context or timeout has ended before anything
// was sent that may take effect.
func (e *Engine) endedEarly(ctx context.Context, key string) error {
	if e.isClosing() {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("zookeeper: %q: the context ended before anything was sent: %w", key, cause(ctx))
	}
	if err := e.session.refused(); err != nil {
		return fmt.Errorf("zookeeper: %q: nothing was sent, because %w", key, refusedError(err))
	}
	if up, _, _ := e.session.state(); !up {
		return fmt.Errorf("zookeeper: %q: there was no session within %v, because %s, so nothing was sent: %w", key, e.timeout, e.session.why(), engine.ErrUnavailable)
	}
	return fmt.Errorf("zookeeper: %q: an earlier request was not answered within %v, so nothing was sent: %w", key, e.timeout, engine.ErrUnavailable)
}

// refusedError says what to do about servers that refuse the user. No retry helps.
func refusedError(err error) error {
	return fmt.Errorf("the servers refuse the user: check the user in the URL, and that the servers have the scheme digest: %w", err)
}

// endedLate is the error of a call whose context or timeout has ended after it was sent.
func (e *Engine) endedLate(ctx context.Context, key, operation string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("zookeeper: %q: the context ended before there was an answer to %s, so it may have taken effect: %w: %w",
			key, operation, engine.ErrUnknown, cause(ctx))
	}
	return fmt.Errorf("zookeeper: %q: no answer to %s within %v, so it may have taken effect: %w: %w",
		key, operation, e.timeout, engine.ErrUnknown, context.DeadlineExceeded)
}

// cause returns an error that matches both the error of ctx and its cause.
func cause(ctx context.Context) error {
	if why := context.Cause(ctx); !errors.Is(why, ctx.Err()) {
		return errors.Join(ctx.Err(), why)
	}
	return ctx.Err()
}
