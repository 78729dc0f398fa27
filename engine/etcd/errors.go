package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/interlock-go/interlock/engine"
)

var errClosed = fmt.Errorf("etcd: %w: it was used after Close", engine.ErrClosed)

// errLeaseGone reports that a lease has expired. The key that it kept is gone, too.
var errLeaseGone = errors.New("etcd: the lease has expired")

// A failure is an error with its own text that matches all its causes.
type failure struct {
	text   string
	causes []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.causes }

// fail returns an error about a lock or record. Causes may be nil.
func fail(name, text string, causes ...error) error {
	causes = slices.DeleteFunc(causes, func(err error) bool { return err == nil })
	return &failure{fmt.Sprintf("etcd: %q: %s", name, text), causes}
}

// abandonedError is the error of an attempt that met its tombstone.
func abandonedError(name string) error {
	return fail(name, "the attempt was abandoned before it arrived", engine.ErrAbandoned)
}

// kindError is the error of a key that holds a lock of another family.
func kindError(name, held string, wanted engine.Kind) error {
	return fail(name, fmt.Sprintf("the key holds a %s lock, and a %s lock was requested: use another key", held, wanted), engine.ErrKind)
}

// upgradeError is the error of a reader that requests the write lock.
func upgradeError(name string) error {
	return fail(name, "a reader cannot acquire the write lock, it would wait for itself: release the read lock first, or begin with the write lock",
		engine.ErrUpgrade)
}

// fullError is the error of a reader beyond MaxReaders.
func fullError(name string) error {
	return fail(name, fmt.Sprintf("the lock has %d readers: release some, or spread the readers over several locks", engine.MaxReaders),
		engine.ErrFull)
}

// conflictError is the error of a call whose transactions all met a change by another
// caller. None of them took effect.
func conflictError(ctx context.Context, name string) error {
	return fail(name, "other callers changed it each time before this call could: use fewer callers for one key, or a longer Timeout",
		engine.ErrOverloaded, ctx.Err())
}

// queuedError is the error of a call that has put its request into the queue. After a failure, the
// position is left, and Abandon ends it.
func queuedError(name string, err error) error {
	if engine.Temporary(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fail(name, "the request was put into the queue; after that: "+err.Error(), engine.ErrUnknown, err)
	}
	return err
}

// fullUnconfirmed is the error of a change that a full database has refused or made.
func fullUnconfirmed(c *change, err error) error {
	return fail(c.name, fmt.Sprintf("the database has reached its quota during %s, which may have taken effect: %v", c.operation, err),
		engine.ErrUnknown, err)
}

// A meaning says what an error of etcd means.
type meaning struct {
	err  error  // nil if a retry cannot help
	hint string // advice
}

// meanings has the errors of etcd after which nothing has changed. After ErrNoSpace, commit
// confirms that.
var meanings = map[error]meaning{
	rpctypes.ErrNoSpace:          {engine.ErrFull, "the database has reached its quota: compact and defragment it, then disarm the alarm; see docs/etcd.md"},
	rpctypes.ErrTooManyRequests:  {engine.ErrOverloaded, "the cluster has too many requests in progress; retry later"},
	rpctypes.ErrNoLeader:         {engine.ErrUnavailable, "the cluster has no leader; see etcdctl endpoint status"},
	rpctypes.ErrNotCapable:       {engine.ErrUnavailable, "the member is not ready yet; retry soon"},
	rpctypes.ErrRequestTooLarge:  {nil, "the value is too large: store less, or raise --max-request-bytes"},
	rpctypes.ErrTooManyOps:       {nil, "the member allows too few operations: set --max-txn-ops to 128 or more"},
	rpctypes.ErrPermissionDenied: {nil, "grant the user readwrite on the engine's prefix; see docs/etcd.md"},
	rpctypes.ErrUserEmpty:        {nil, "the cluster wants a user: put it into the URL, as etcd://user:password@host"},
	rpctypes.ErrAuthFailed:       {nil, "the user or password in the URL is wrong; special characters must be escaped, as %40 for @"},
	rpctypes.ErrInvalidAuthToken: {engine.ErrUnavailable, "the session of the user has expired; retry"},
	rpctypes.ErrAuthOldRevision:  {engine.ErrUnavailable, "the users of the cluster were changed meanwhile; retry"},
}

// meaningOf returns the meaning of an error after which nothing has changed, if it is one.
func meaningOf(err error) (meaning, bool) {
	if e, ok := errors.AsType[rpctypes.EtcdError](rpctypes.Error(err)); ok {
		for known, m := range meanings {
			if errors.Is(e, known) {
				return m, true
			}
		}
	}
	if status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max") {
		return meanings[rpctypes.ErrRequestTooLarge], true
	}
	return meaning{}, false
}

// noSpace reports whether a member has answered that the database is full.
func noSpace(err error) bool {
	m, _ := meaningOf(err)
	return errors.Is(m.err, engine.ErrFull)
}

// unsentTexts are parts of the errors of gRPC for a call that was never sent.
var unsentTexts = []string{"while dialing", "server preface", "authentication handshake", "no children to pick from",
	"produced zero addresses", "waiting for new LB policy update", "waiting for connections to become ready"}

// unsent reports whether a call failed because there was no connection.
func unsent(err error) bool {
	text := err.Error()
	return slices.ContainsFunc(unsentTexts, func(part string) bool { return strings.Contains(text, part) })
}

// explain wraps the error of a call. mayChange says that the call could have changed
// something. The text says whether it may have taken effect, and what to do.
func explain(ctx context.Context, name, operation string, mayChange bool, err error) error {
	if m, known := meaningOf(err); known {
		return fail(name, fmt.Sprintf("%s: %s: %v", operation, m.hint, err), m.err, err)
	}
	done := callerEnded(ctx)
	switch {
	case errors.Is(err, errLeaseGone), errors.Is(err, engine.ErrClosed):
		return err
	case mayChange && !unsent(err):
		return fail(name, fmt.Sprintf("no answer to %s, so it may have taken effect: %v", operation, err), engine.ErrUnknown, err, done)
	case done != nil:
		return fail(name, fmt.Sprintf("the context ended during %s, before anything was changed: %v", operation, done), done, err)
	}
	return fail(name, fmt.Sprintf("no answer to %s, so nothing was changed: %v", operation, err), engine.ErrUnavailable, err)
}

// transient reports whether a call that changes nothing may succeed on another member.
func transient(err error) bool {
	m, known := meaningOf(err)
	switch {
	case known:
		return m.err != nil && !errors.Is(m.err, engine.ErrFull)
	case errors.Is(err, errLeaseGone):
		return false
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Unknown:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// observed returns the error of a call as observers see it: with its meaning, and without
// keys.
func observed(operation string, err error) error {
	if err == nil || errors.Is(err, errLeaseGone) {
		return nil
	}
	text := fmt.Sprintf("etcd: %s: %v", operation, err)
	if m, known := meaningOf(err); known {
		return &failure{text, slices.DeleteFunc([]error{m.err, err}, func(err error) bool { return err == nil })}
	}
	switch status.Code(err) {
	case codes.Canceled:
		return &failure{text, []error{context.Canceled, err}}
	case codes.DeadlineExceeded:
		return &failure{text, []error{context.DeadlineExceeded, err}}
	}
	return &failure{text, []error{engine.ErrUnavailable, err}}
}
