package interlockhttp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/guard"
)

// A GaveUpError reports that a request got no response in any of its tries.
type GaveUpError struct {
	Tries int
	Key   string // for a later retry, see [WithKey]; not in the text, which is logged
	Sent  bool   // a try may have reached the server: the outcome is unknown
	Err   error  // the error of the last try, or the reason why there was no further try
}

// Error implements error.
func (e *GaveUpError) Error() string {
	outcome := "nothing was sent"
	if e.Sent {
		outcome = "the outcome is unknown: retry with the same key"
	}
	times := "1 try"
	if e.Tries > 1 {
		times = fmt.Sprintf("%d tries", e.Tries)
	}
	return fmt.Sprintf("interlockhttp: no response after %s; %s: %v", times, outcome, e.Err)
}

// Is makes a GaveUpError match [guard.ErrUnknown] if a try may have reached the server,
// and otherwise [guard.ErrNotExecuted]. Guarded work that returns it has that outcome.
func (e *GaveUpError) Is(target error) bool {
	if e.Sent {
		return target == guard.ErrUnknown
	}
	return target == guard.ErrNotExecuted
}

// Unwrap returns the error of the last try.
func (e *GaveUpError) Unwrap() error { return e.Err }

// wrapError returns err as a GaveUpError; nil stays nil.
func (c *retrier) wrapError(err error) error {
	if err == nil {
		return nil
	}
	return &GaveUpError{Tries: c.tries, Key: c.intent.key, Sent: c.sent, Err: err}
}

// neverSent reports whether err occurred before anything was sent: there was no
// connection, or the server's certificate was wrong.
func neverSent(err error) bool {
	return err != nil && guard.Classify(err) == guard.ClassNotSent || wrongServer(err)
}

// wrongServer reports whether err means that the server's certificate is wrong. A retry
// would not help.
func wrongServer(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		header       tls.RecordHeaderError
		authority    x509.UnknownAuthorityError
		hostname     x509.HostnameError
		invalid      x509.CertificateInvalidError
	)
	return errors.As(err, &verification) || errors.As(err, &header) || errors.As(err, &authority) ||
		errors.As(err, &hostname) || errors.As(err, &invalid)
}
