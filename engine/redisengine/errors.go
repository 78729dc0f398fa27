package redisengine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var errClosed = fmt.Errorf("redis: %w: it was used after Close", engine.ErrClosed)

// A failure is an error with its own text that matches all its causes.
type failure struct {
	text   string
	causes []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.causes }

// fail returns an error about the key of that name. Causes may be nil.
func fail(name, text string, causes ...error) error {
	return failureOf(fmt.Sprintf("redis: %q: %s", name, text), causes...)
}

// failureOf is fail for an error that is not about one key.
func failureOf(text string, causes ...error) error {
	causes = slices.DeleteFunc(causes, func(err error) bool { return err == nil })
	return &failure{text: text, causes: causes}
}

// incompleteError is the error of a request that lacks a field.
func incompleteError(r *engine.Request) error {
	return fmt.Errorf("redis: the request for %q is incomplete: set Key, Holder, Attempt and a Lease above zero", r.Key)
}

// abandonedError is the error of an attempt that met its tombstone.
func abandonedError(name string) error {
	return fail(name, "the attempt was abandoned before it arrived", engine.ErrAbandoned)
}

// kindError is the error of a key that holds other data.
func kindError(name string) error {
	return fail(name, "acquire: "+replyMeanings["WRONGTYPE"].hint+": the key is not a lock of this kind", engine.ErrKind)
}

// notLock is the error of inspecting a key that is not a lock.
func notLock(name string) error {
	return fail(name, "the key is not a lock, and was not changed", engine.ErrKind)
}

// notRecord is the error of a key whose entries are not those of a record.
func notRecord(name string) error {
	return fail(name, "the key is not a record, and was not changed", engine.ErrKind)
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

// explain wraps the error of a call. The text says whether the call may have taken effect,
// and what to do.
func (e *Engine) explain(ctx context.Context, name string, s *Script, err error) error {
	var reply ReplyError
	if errors.As(err, &reply) {
		return replyFailure(name, s, e.unstableSlot(reply))
	}
	if ctx.Err() == nil {
		e.clock.forget() // another server may answer next
	}
	var unsent *NotSentError
	if errors.As(err, &unsent) {
		return e.notSent(ctx, name, unsent.Err)
	}
	causes := []error{engine.ErrUnknown, err}
	// Callers look for their own context error, as well as for ErrUnknown.
	if done := ctx.Err(); done != nil {
		causes = append(causes, done, context.Cause(ctx))
	}
	return fail(name, fmt.Sprintf("no answer to %s, so it may have taken effect: %v", s.Name, err), causes...)
}

// unstableSlot turns a redirect into TRYAGAIN. The call has followed as many redirects as
// are allowed: its slot is being migrated, and a call would find only some of its keys.
func (e *Engine) unstableSlot(reply ReplyError) ReplyError {
	if code := reply.Code(); e.cluster == nil || code != "MOVED" && code != "ASK" {
		return reply
	}
	return "TRYAGAIN after as many redirects as are allowed: " + reply
}

// notSent explains why a call was not sent. A caller whose context has ended gets that
// error, not one about the server.
func (e *Engine) notSent(ctx context.Context, name string, err error) error {
	switch {
	case ctx.Err() != nil:
		return fail(name, fmt.Sprintf("the context ended before there was a connection: %v", context.Cause(ctx)),
			ctx.Err(), context.Cause(ctx), err)
	case errors.Is(err, engine.ErrClosed):
		return errClosed
	case errors.Is(err, engine.ErrOverloaded):
		return fail(name, fmt.Sprintf("no connection became free in time, so nothing was sent: enlarge the client's pool: %v", err),
			engine.ErrOverloaded, err)
	}
	return fail(name, fmt.Sprintf("cannot reach the server, so nothing was sent: %v", err), engine.ErrUnavailable, err)
}

// A replyMeaning says what an error reply means.
type replyMeaning struct {
	err  error  // nil if a retry cannot help
	hint string // advice
}

// replyMeanings has the meaning of each code of an error reply.
var replyMeanings = map[string]replyMeaning{
	"WRONGTYPE":   {engine.ErrKind, "use another name, or delete the key if it is not needed"},
	"OOM":         {engine.ErrFull, "raise maxmemory, and leave maxmemory-policy at noeviction"},
	"LOADING":     {engine.ErrUnavailable, "the server is still loading its data; retry soon"},
	"BUSY":        {engine.ErrUnavailable, "another script runs too long; see SLOWLOG"},
	"READONLY":    {engine.ErrUnavailable, "this is a replica; connect to its primary"},
	"MASTERDOWN":  {engine.ErrUnavailable, "a replica has lost its primary; connect to a primary"},
	"NOREPLICAS":  {engine.ErrUnavailable, "min-replicas-to-write requires more replicas than are connected"},
	"TRYAGAIN":    {engine.ErrUnavailable, "the slot is being migrated; retry soon"},
	"CLUSTERDOWN": {engine.ErrUnavailable, "the cluster does not serve this slot for now; see CLUSTER INFO"},
	"MISCONF":     {engine.ErrUnavailable, "the server cannot save its data and refuses writes; see its log and disk"},
	"NOAUTH":      {nil, "put the password into the URL: redis://:password@host"},
	"WRONGPASS":   {nil, "the user or password in the URL is wrong; special characters must be escaped, as %40 for @"},
	"NOPERM":      {nil, "grant the user what docs/redis.md lists under Permissions"},
	"MOVED":       {nil, "this is a node of a cluster; use a cluster client"},
	"CROSSSLOT":   {nil, "the keys of one lock are in different slots; please report the lock's name"},
}

// phrases are parts of error replies that have no distinctive first word.
var phrases = map[string]replyMeaning{
	"max number of clients":             {engine.ErrOverloaded, "raise the server's maxclients, or close unused connections"},
	"The user executing the script can": replyMeanings["NOPERM"], // Redis 6 and 7.0
	"ACL failure in script":             replyMeanings["NOPERM"], // Redis 7.2 and Valkey
}

// replyFailure explains an error reply. No script fails after a write, so nothing has
// happened.
func replyFailure(name string, s *Script, reply ReplyError) error {
	v, ok := meaningOf(reply)
	if !ok {
		return fail(name, fmt.Sprintf("%s: %v", s.Name, reply), reply)
	}
	return fail(name, fmt.Sprintf("%s: %s: %v", s.Name, v.hint, reply), v.err, reply)
}

// meaningOf returns the meaning of an error reply, if it is known.
func meaningOf(reply ReplyError) (v replyMeaning, ok bool) {
	v, ok = replyMeanings[reply.Code()]
	// Redis reports some failures with the general code ERR, and only the text tells them
	// apart.
	for phrase, m := range phrases {
		if strings.Contains(string(reply), phrase) {
			v, ok = m, true
		}
	}
	return v, ok
}

// observed returns the error of a call as observers see it: with its meaning, and without
// keys.
func observed(s *Script, err error) error {
	var (
		reply  ReplyError
		unsent *NotSentError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &reply):
		v, _ := meaningOf(reply)
		return failureOf(fmt.Sprintf("redis: %s: %v", s.Name, reply), v.err, reply)
	case errors.As(err, &unsent):
		return failureOf(fmt.Sprintf("redis: %s was not sent: %v", s.Name, unsent.Err), engine.ErrUnavailable, unsent.Err)
	}
	return failureOf(fmt.Sprintf("redis: no answer to %s: %v", s.Name, err), engine.ErrUnknown, err)
}

// otherContextEnded reports whether err is the context error of another caller: the one
// that was opening the connection for this call.
func otherContextEnded(ctx context.Context, err error) bool {
	if ctx.Err() != nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	// A deadline may be noticed a moment before ctx is done.
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > 50*time.Millisecond
}
