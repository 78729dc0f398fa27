package guard

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// An ErrorClass is what an error says about the work that returned it.
type ErrorClass string

// The classes.
const (
	ClassFailed  ErrorClass = "failed"   // the work failed; Policy.OnError decides
	ClassNotSent ErrorClass = "not-sent" // nothing was sent, so nothing happened; Policy.OnError decides
	ClassUnknown ErrorClass = "unknown"  // the work may have happened; Policy.OnUnknown decides
)

// Classify returns the class of an error by guard's table, or "" for nil. A transport
// error is [ClassUnknown], because the request may have arrived: timeouts, io.EOF, a
// closed or reset connection, a canceled context, driver.ErrBadConn, HTTP/2 and TLS
// errors, Canceled, DeadlineExceeded and Unavailable of gRPC, and gRPC streams that were
// reset. A failed dial or name lookup is [ClassNotSent]. Other errors are [ClassFailed].
//
// An error marked by [NotExecuted] or [OutcomeUnknown] has the class of its outermost
// mark. Among joined errors, ClassUnknown wins. For the errors of other transports, set
// [Policy.Classify].
//
// If an http.Client follows a redirect and the second dial fails, the error looks as if
// the first request was never sent. To prevent that, set CheckRedirect, or use
// interlockhttp.Transport.
func Classify(err error) ErrorClass { return classify(err, nil) }

// Classify returns the class of an error by the policy's Classify and guard's table.
func (g *Guard[T]) Classify(err error) ErrorClass { return classify(err, g.policy.Classify) }

// classify looks for a mark first, then asks custom, then the table.
func classify(err error, custom func(error) ErrorClass) ErrorClass {
	if err == nil {
		return ""
	}
	if c := markOf(err, custom); c != "" {
		return c
	}
	if custom != nil {
		if c := custom(err); c != "" {
			return c
		}
	}
	if c := transportClass(err); c != "" {
		return c
	}
	return ClassFailed
}

// ErrNotExecuted is matched by every error made by [NotExecuted].
var ErrNotExecuted = errors.New("guard: not executed")

// markOf returns the class of the outermost mark, or "". A mark does not cover errors
// that are joined to the marked one: if one of those is unknown, the whole is unknown.
func markOf(err error, custom func(error) ErrorClass) ErrorClass {
	switch {
	case isExactly(err, ErrNotExecuted):
		return ClassNotSent
	case isExactly(err, ErrUnknown):
		return ClassUnknown
	}
	mark := classOfWrapped(err, func(err error) ErrorClass { return markOf(err, custom) })
	joined := wrapped(err)
	unknown := func(err error) bool { return classify(err, custom) == ClassUnknown }
	if mark == ClassNotSent && len(joined) > 1 && slices.ContainsFunc(joined, unknown) {
		return ClassUnknown
	}
	return mark
}

// isExactly is errors.Is for err alone, without the errors that it wraps.
func isExactly(err, target error) bool {
	x, ok := err.(interface{ Is(error) bool })
	return err == target || ok && x.Is(target) //nolint:errorlint // wrapped errors are looked at one by one
}

// classOfWrapped returns the class of the errors that err wraps. If there are several,
// ClassUnknown wins.
func classOfWrapped(err error, classOf func(error) ErrorClass) ErrorClass {
	var found ErrorClass
	for _, err := range wrapped(err) {
		switch c := classOf(err); {
		case c == ClassUnknown:
			return c
		case c != "":
			found = c
		}
	}
	return found
}

func wrapped(err error) []error {
	switch x := err.(type) { //nolint:errorlint // this is errors.Unwrap for both forms
	case interface{ Unwrap() []error }:
		return x.Unwrap()
	case interface{ Unwrap() error }:
		if err := x.Unwrap(); err != nil {
			return []error{err}
		}
	}
	return nil
}

// beforeSending are the operations of a net.OpError that precede the request. Package
// net/http uses the last two for proxies.
var beforeSending = []string{"dial", "proxyconnect", "socks connect"}

// afterSending are errors of a connection that was in use.
var afterSending = []error{
	io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, driver.ErrBadConn, context.Canceled, context.DeadlineExceeded,
	syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
}

// transportTexts are the prefixes by which transport errors are recognised if there is no
// type to compare: package net/http does not export their types, and this package does not
// import gRPC and the MySQL driver.
var transportTexts = []string{
	"http2: ", "net/http: ", "stream error: ", "http: server closed idle connection",
	"rpc error: code = Canceled ", "rpc error: code = DeadlineExceeded ", "rpc error: code = Unavailable ",
	"invalid connection",
}

// brokenStreams are parts of the error texts of gRPC calls whose stream ended without a
// status from the server. The codes of these errors are those of ordinary failures.
var brokenStreams = []string{
	"stream terminated by RST_STREAM", "server closed the stream without sending trailers", "unexpected HTTP status code received from server",
}

// refusedStream is part of the error text of an HTTP/2 stream that the server did not
// process.
const refusedStream = "; REFUSED_STREAM"

// transportClass returns the class of a transport error, or "" for other errors.
func transportClass(err error) ErrorClass {
	switch e := err.(type) { //nolint:errorlint // wrapped errors are looked at one by one
	case *net.OpError:
		if slices.Contains(beforeSending, e.Op) {
			return ClassNotSent
		}
		return ClassUnknown
	case *net.DNSError, *tls.CertificateVerificationError:
		return ClassNotSent
	case *url.Error:
		return urlClass(e)
	}
	if slices.ContainsFunc(afterSending, func(target error) bool { return isExactly(err, target) }) {
		return ClassUnknown
	}
	if c := classOfWrapped(err, transportClass); c != "" {
		return c
	}
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		return ClassUnknown
	}
	if len(wrapped(err)) == 0 {
		return textClass(err.Error())
	}
	return ""
}

// urlClass returns the class of an error of http.Client. An unrecognised error is
// unknown, because the request may have been sent.
func urlClass(e *url.Error) ErrorClass {
	if e.Op == "parse" {
		return ""
	}
	if c := transportClass(e.Err); c != "" {
		return c
	}
	return ClassUnknown
}

// textClass recognises an error by its text.
func textClass(text string) ErrorClass {
	switch {
	case strings.HasPrefix(text, "rpc error: ") && slices.ContainsFunc(brokenStreams, func(part string) bool { return strings.Contains(text, part) }):
		return ClassUnknown
	case !slices.ContainsFunc(transportTexts, func(start string) bool { return strings.HasPrefix(text, start) }):
		return ""
	case strings.Contains(text, refusedStream):
		return ClassNotSent
	}
	return ClassUnknown
}
