package redisengine

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"
)

// A Client connects an [Engine] to a Redis library. Its methods are safe for concurrent
// use.
//
// Errors tell whether a call took effect. After a [ReplyError] of the server or a
// *[NotSentError] it did not; after any other error it may have.
type Client interface {
	// Eval runs a script by its hash, or by its text if the server does not know the
	// hash. It sends the call once, and returns within the call's timeout plus 1 s
	// even if ctx has no deadline. It must not use the call after it returns.
	Eval(ctx context.Context, c *Call) (Reply, error)

	// Listen opens a connection for messages that are published with m. It calls
	// onMessage for each message, and for each confirmed subscription, from one
	// goroutine at a time.
	Listen(ctx context.Context, m PublishMode, onMessage func(channel string)) (Listener, error)

	// Close closes the connections that the Client has opened, and waits until they are
	// closed. A library client of the caller stays open.
	Close() error
}

// A Listener is a connection for messages.
type Listener interface {
	// Subscribe and Unsubscribe may return before the server has confirmed. Subscribe
	// skips channels that the user may not use.
	Subscribe(ctx context.Context, channels []string) error
	Unsubscribe(ctx context.Context, channels []string) error

	// Lost receives, or is closed, when the connection has ended.
	Lost() <-chan error

	// Close closes the connection and waits until onMessage is no longer called.
	Close() error
}

// A Call is a script with its arguments.
type Call struct {
	Script *Script
	Keys   []string
	Args   []string

	// Timeout is how long to wait for an answer, if the library has no timeout of its
	// own.
	Timeout time.Duration

	// Renewal means that locks may be lost if the call is delayed, so it must not wait
	// for a free connection. It may be sent twice.
	Renewal bool

	// Acks is the number of replicas that must acknowledge the writes of the call
	// within AckTimeout, which is not part of Timeout. Above zero the call needs a
	// connection of its own.
	Acks       int
	AckTimeout time.Duration

	late lateGrant
}

// OnLateReply returns a function to call with a reply that arrives after Eval has returned
// because its context ended. A [Client] that can receive such replies calls OnLateReply
// before Eval returns. Its Close waits until the function has returned.
func (c *Call) OnLateReply() func(Reply) { return c.late.undo }

// A Reply is the result of a script: an integer, or an array of integers and strings.
type Reply struct {
	Int  int64
	List []Item // nil for an integer

	Acked int // number of replicas that acknowledged, if Acks was above zero
}

// An Item is a part of a [Reply].
type Item struct {
	Int  int64
	Text string
}

// A ReplyError is an error reply of the server.
type ReplyError string

// Error implements error.
func (e ReplyError) Error() string { return string(e) }

// Code returns the code of the reply, such as NOSCRIPT. It is the first word. For an error
// inside a script, Redis 6 puts it after the script's name and line.
func (e ReplyError) Code() string {
	if found := scriptError.FindStringSubmatch(string(e)); found != nil {
		return found[1]
	}
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// scriptError is the text of an error inside a script in Redis 6. It may name the script and
// line twice.
var scriptError = regexp.MustCompile(`^(?:ERR )?(?:Error running script .*)?@user_script: ?\d+: -?([A-Z]+) `)

// NoScript reports whether the server does not know the hash of a script.
func NoScript(err error) bool {
	var e ReplyError
	return errors.As(err, &e) && e.Code() == "NOSCRIPT"
}

// Moved returns the address in a MOVED reply: the server that has the slot of the call.
// It returns "" for any other error.
func Moved(err error) (addr string) {
	var e ReplyError
	if errors.As(err, &e) && e.Code() == "MOVED" {
		addr = string(e[strings.LastIndexByte(string(e), ' ')+1:])
	}
	return addr
}

// Forbidden reports whether the user lacks a permission for the call.
func Forbidden(err error) bool {
	var e ReplyError
	return errors.As(err, &e) && e.Code() == "NOPERM"
}

// Redirected reports whether err is a MOVED or ASK reply: another server has the slot of
// the call, which had no effect.
func Redirected(err error) bool {
	var e ReplyError
	return errors.As(err, &e) && (e.Code() == "MOVED" || e.Code() == "ASK")
}

// A NotSentError means that a call was not sent.
type NotSentError struct{ Err error }

// Error implements error.
func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *NotSentError) Unwrap() error { return e.Err }
