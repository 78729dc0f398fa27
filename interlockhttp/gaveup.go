package interlockhttp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"github.com/interlock-go/interlock/guard"
)

// A GaveUpError says that a request got no answer, however often it was sent.
type GaveUpError struct {
	Tries int
	Key   string // to ask again with, see [WithKey]; not in the text, which ends up in logs
	Sent  bool   // it may have reached the server: nobody knows what became of it
	Err   error  // of the last try, or why there was no other one
}

// Error implements error.
func (e *GaveUpError) Error() string {
	fate := "nothing was sent"
	if e.Sent {
		fate = "the outcome is unknown: ask again with the same key"
	}
	times := "1 try"
	if e.Tries > 1 {
		times = fmt.Sprintf("%d tries", e.Tries)
	}
	return fmt.Sprintf("interlockhttp: no answer after %s; %s: %v", times, fate, e.Err)
}

// Is makes a GaveUpError match [guard.ErrUnknown], if the request may have reached
// the server: work that returns it is then not taken for work that failed.
func (e *GaveUpError) Is(target error) bool { return e.Sent && target == guard.ErrUnknown }

// Unwrap returns the error of the last try.
func (e *GaveUpError) Unwrap() error { return e.Err }

// gaveUp returns the error of a course that ends with err.
func (c *retrier) gaveUp(err error) error {
	if err == nil {
		return nil
	}
	return &GaveUpError{Tries: c.tries, Key: c.intent.key, Sent: c.sent, Err: err}
}

// neverSent tells whether err is one of before anything was sent: there was no
// connection, or it was the wrong server.
func neverSent(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	return wrongServer(err)
}

// wrongServer tells whether err says that the server is not who it should be. It
// will not be in a second, either.
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
