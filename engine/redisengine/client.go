package redisengine

import (
	"context"
	"errors"
	"strings"
	"time"
)

// A Client is what an [Engine] needs of a Redis library. Its methods are safe
// for concurrent use.
//
// An error says what is known: an [ReplyError] is what the server answered, a
// *[NotSentError] means that the server was not asked, and after any other the
// call may have been carried out.
type Client interface {
	// Eval runs a script, by its hash, or by its text where the server does not
	// know it yet. It sends it once, and returns within the call's timeout and a
	// second even if ctx has no end. The call is the engine's again once Eval
	// has returned.
	Eval(ctx context.Context, c *Call) (Reply, error)

	// Listen opens a connection for messages that are published with m. It
	// reports each channel on which one arrives to heard, and each on which it
	// has begun to listen, from one goroutine at a time.
	Listen(ctx context.Context, m PublishMode, heard func(channel string)) (Listener, error)

	// Close ends what the Client has opened by itself, and waits for it. A
	// library's client that was given to it stays open.
	Close() error
}

// A Listener is a connection for messages.
type Listener interface {
	// Subscribe and Unsubscribe return when the request has been sent, or at
	// the latest when it was carried out.
	Subscribe(ctx context.Context, channels []string) error
	Unsubscribe(ctx context.Context, channels []string) error

	// Lost receives, or is closed, when the connection has ended.
	Lost() <-chan error

	// Close ends the connection and waits until heard is not called any more.
	Close() error
}

// A Call is a script and what it is given.
type Call struct {
	Script *Script
	Keys   []string
	Args   []string

	// Timeout is how long to wait for an answer, unless the library has been
	// told so before.
	Timeout time.Duration

	// Renewal says that a lock is lost unless the call gets through soon, so it
	// must not stand in line for a connection.
	Renewal bool

	// Acks is how many replicas are to acknowledge what the call has written, for
	// up to AckTimeout, which is not a part of Timeout. Above zero the call needs a
	// connection that nobody else uses meanwhile.
	Acks       int
	AckTimeout time.Duration
}

// A Reply is what a script returned: an integer, or an array of integers and
// strings.
type Reply struct {
	Int  int64
	List []Item // nil if it was an integer

	Acked int // how many replicas have acknowledged, if they were to
}

// An Item is a part of a [Reply].
type Item struct {
	Int  int64
	Text string
}

// An ReplyError is an error that the server answered with.
type ReplyError string

// Error implements error.
func (e ReplyError) Error() string { return string(e) }

// Code returns the word that the reply begins with, such as NOSCRIPT.
func (e ReplyError) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// NoScript reports whether err is the server's answer that it does not know a
// script by its hash.
func NoScript(err error) bool {
	var e ReplyError
	return errors.As(err, &e) && e.Code() == "NOSCRIPT"
}

// Moved returns the address of the server that has the slot of a call by now, if
// that is what err says; otherwise "".
func Moved(err error) (addr string) {
	var e ReplyError
	if errors.As(err, &e) && e.Code() == "MOVED" {
		addr = string(e[strings.LastIndexByte(string(e), ' ')+1:])
	}
	return addr
}

// A NotSentError means that a call never left the process.
type NotSentError struct{ Err error }

// Error implements error.
func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *NotSentError) Unwrap() error { return e.Err }
