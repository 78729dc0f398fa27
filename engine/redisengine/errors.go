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

// A failure is an error with a text of its own that matches all its causes.
type failure struct {
	text   string
	causes []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.causes }

// fail says something about the lock of that name. Causes may be nil.
func fail(name, text string, causes ...error) error {
	causes = slices.DeleteFunc(causes, func(err error) bool { return err == nil })
	return &failure{text: fmt.Sprintf("redis: %q: %s", name, text), causes: causes}
}

func incompleteError(r *engine.Request) error {
	return fmt.Errorf("redis: request for %q lacks something: set its Key, Holder, Attempt and a Lease above zero", r.Key)
}

func abandonedError(name string) error {
	return fail(name, "the attempt was abandoned before it arrived", engine.ErrAbandoned)
}

func kindError(name string) error {
	return fail(name, "acquire: "+replyMeanings["WRONGTYPE"].hint+": the key holds something else than this kind of lock", engine.ErrKind)
}

func notLock(name string) error {
	return fail(name, "there is something else than a lock at this key: it was left as it is", engine.ErrKind)
}

func notRecord(name string) error {
	return fail(name, "there is something else than a record where one would be: it was left as it is", engine.ErrKind)
}

func upgradeError(name string) error {
	return fail(name, "who reads it asks to write, and would wait for itself: release the read lock first, or take the write lock to begin with",
		engine.ErrUpgrade)
}

func fullError(name string) error {
	return fail(name, fmt.Sprintf("%d read it already: release some, or spread the readers over several locks", engine.MaxReaders),
		engine.ErrFull)
}

// explain says what became of a call that ended with err, and what to do next.
func (e *Engine) explain(ctx context.Context, name string, s *Script, err error) error {
	var reply ReplyError
	if errors.As(err, &reply) {
		return replyFailure(name, s, e.unstableSlot(reply))
	}
	if ctx.Err() == nil {
		e.clock.forget() // who answers next may be another server
	}
	var unsent *NotSentError
	if errors.As(err, &unsent) {
		return e.notSent(ctx, name, unsent.Err)
	}
	causes := []error{engine.ErrUnknown, err}
	if done := ctx.Err(); done != nil {
		causes = append(causes, done, context.Cause(ctx))
	}
	return fail(name, fmt.Sprintf("no answer to %s, so it may have happened: %v", s.Name, err), causes...)
}

// unsettled turns the answer to a call that was sent from one server of a cluster
// to the next too often into another: where its slot is has yet to settle. A call
// about a slot on its way to a server would find some of its keys only.
func (e *Engine) unstableSlot(reply ReplyError) ReplyError {
	if code := reply.Code(); e.cluster == nil || code != "MOVED" && code != "ASK" {
		return reply
	}
	return "TRYAGAIN after as many redirects as are allowed: " + reply
}

// unsent explains why a call never left.
func (e *Engine) notSent(ctx context.Context, name string, err error) error {
	switch {
	case ctx.Err() != nil:
		return fail(name, fmt.Sprintf("gave up before a connection was there: %v", context.Cause(ctx)),
			ctx.Err(), context.Cause(ctx), err)
	case errors.Is(err, engine.ErrClosed):
		return errClosed
	case errors.Is(err, engine.ErrOverloaded):
		return fail(name, fmt.Sprintf("no connection came free in time, so nothing was sent: enlarge the client's pool: %v", err),
			engine.ErrOverloaded, err)
	}
	return fail(name, fmt.Sprintf("cannot reach the server, so nothing was sent: %v", err), engine.ErrUnavailable, err)
}

// A verdict is what an error reply means.
type replyMeaning struct {
	err  error  // nil if trying again will not help
	hint string // what to do
}

// verdicts are the error replies that have a meaning of their own, by their
// first word.
var replyMeanings = map[string]replyMeaning{
	"WRONGTYPE":   {engine.ErrKind, "use another name, or delete the key if nobody needs it"},
	"OOM":         {engine.ErrFull, "raise maxmemory, and leave maxmemory-policy at noeviction"},
	"LOADING":     {engine.ErrUnavailable, "the server is still reading its data; try again soon"},
	"BUSY":        {engine.ErrUnavailable, "somebody's script runs too long; see SLOWLOG"},
	"READONLY":    {engine.ErrUnavailable, "this is a replica; connect to its primary"},
	"MASTERDOWN":  {engine.ErrUnavailable, "a replica has lost its primary; connect to a primary"},
	"NOREPLICAS":  {engine.ErrUnavailable, "min-replicas-to-write asks for more replicas than there are"},
	"TRYAGAIN":    {engine.ErrUnavailable, "the slot is on the move; try again soon"},
	"CLUSTERDOWN": {engine.ErrUnavailable, "the cluster does not serve this slot for now; see CLUSTER INFO"},
	"MISCONF":     {engine.ErrUnavailable, "the server cannot save its data and takes no writes; see its log and disk"},
	"NOAUTH":      {nil, "put the password into the URL: redis://:password@host"},
	"WRONGPASS":   {nil, "user or password in the URL are wrong; special characters must be escaped, as %40 for @"},
	"NOPERM":      {nil, "grant the user what docs/redis.md lists under Permissions"},
	"MOVED":       {nil, "this is a node of a cluster, which needs a client for clusters"},
	"CROSSSLOT":   {nil, "keys of one lock lie in different slots; please report the lock's name"},
}

// phrases are error replies that have no word of their own to begin with.
var phrases = map[string]replyMeaning{
	"max number of clients":             {engine.ErrOverloaded, "raise the server's maxclients, or close what nobody needs"},
	"The user executing the script can": replyMeanings["NOPERM"], // Redis 7
}

// answered explains an error that the server gave as its answer. No script fails
// after it has written, so nothing has happened.
func replyFailure(name string, s *Script, reply ReplyError) error {
	v, ok := replyMeanings[reply.Code()]
	for phrase, meaning := range phrases {
		if strings.Contains(string(reply), phrase) {
			v, ok = meaning, true
		}
	}
	if !ok {
		return fail(name, fmt.Sprintf("%s: %v", s.Name, reply), reply)
	}
	return fail(name, fmt.Sprintf("%s: %s: %v", s.Name, v.hint, reply), v.err, reply)
}

// otherContextEnded reports whether err ends some context, but not ctx: that of whoever
// was opening the connection that this call would have used.
func otherContextEnded(ctx context.Context, err error) bool {
	if ctx.Err() != nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	// A deadline may have been noticed a moment before ctx itself says so.
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > 50*time.Millisecond
}
