package guard_test

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// brokenAfterSending are errors of requests that may have arrived.
var brokenAfterSending = map[string]error{
	"EOF":                 io.EOF,
	"unexpected EOF":      io.ErrUnexpectedEOF,
	"closed pipe":         io.ErrClosedPipe,
	"connection reset":    &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)},
	"bare reset":          syscall.ECONNRESET,
	"broken pipe":         fmt.Errorf("send: %w", os.NewSyscallError("write", syscall.EPIPE)),
	"connection aborted":  syscall.ECONNABORTED,
	"closed connection":   net.ErrClosed,
	"canceled":            fmt.Errorf("call the bank: %w", context.Canceled),
	"deadline":            context.DeadlineExceeded,
	"timeout":             os.ErrDeadlineExceeded,
	"bad connection":      fmt.Errorf("commit: %w", driver.ErrBadConn),
	"TLS alert":           &net.OpError{Op: "remote error", Err: tls.AlertError(42)},
	"TLS record":          &net.OpError{Op: "local error", Err: tls.AlertError(20)},
	"HTTP, hung up":       &url.Error{Op: "Post", URL: "http://bank", Err: io.EOF},
	"HTTP, idle":          &url.Error{Op: "Post", URL: "http://bank", Err: errors.New("http: server closed idle connection")},
	"HTTP/2 GOAWAY":       &url.Error{Op: "Post", URL: "http://bank", Err: errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR")},
	"HTTP/2 stream":       errors.New("stream error: stream ID 1; INTERNAL_ERROR; received from peer"),
	"HTTP/2 lost":         fmt.Errorf("bank: %w", errors.New("http2: client connection lost")),
	"HTTP/1 broken":       errors.New("net/http: HTTP/1.x transport connection broken: malformed HTTP response"),
	"the second of two":   errors.Join(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, io.EOF),
	"marked":              guard.OutcomeUnknown(errNo),
	"marked last":         guard.OutcomeUnknown(guard.NotExecuted(errNo)),
	"marked among others": errors.Join(guard.NotExecuted(errNo), guard.OutcomeUnknown(errNo)),
	"beside a mark":       errors.Join(guard.NotExecuted(errNo), io.EOF),
	"beside a wrapped":    fmt.Errorf("two banks: %w, %w", fmt.Errorf("first: %w", guard.NotExecuted(errNo)), &url.Error{Op: "Post", URL: "http://bank", Err: io.EOF}),
	"gRPC, late":          errors.New("rpc error: code = DeadlineExceeded desc = context deadline exceeded"),
	"gRPC, hung up":       fmt.Errorf("bank: %w", errors.New("rpc error: code = Unavailable desc = error reading from server: EOF")),
	"gRPC, reset":         errors.New("rpc error: code = Internal desc = stream terminated by RST_STREAM with error code: INTERNAL_ERROR"),
	"gRPC, cut off":       errors.New("rpc error: code = Internal desc = server closed the stream without sending trailers"),
	"gRPC, a proxy":       errors.New("rpc error: code = Unknown desc = unexpected HTTP status code received from server: 500 (Internal Server Error)"),
	"MySQL":               fmt.Errorf("commit: %w", errors.New("invalid connection")),
}

// neverSent are errors of requests that were not sent.
var neverSent = map[string]error{
	"refused":          &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
	"dial timeout":     &url.Error{Op: "Post", URL: "http://bank", Err: &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}},
	"dial canceled":    &net.OpError{Op: "dial", Err: context.Canceled},
	"no such host":     &url.Error{Op: "Post", URL: "http://bank", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}},
	"DNS timeout":      &net.DNSError{Err: "i/o timeout", IsTimeout: true},
	"proxy":            &url.Error{Op: "Post", URL: "http://bank", Err: &net.OpError{Op: "proxyconnect", Err: io.EOF}},
	"certificate":      &url.Error{Op: "Post", URL: "https://bank", Err: &tls.CertificateVerificationError{Err: errors.New("x509: unknown authority")}},
	"stream refused":   &url.Error{Op: "Post", URL: "https://bank", Err: errors.New("stream error: stream ID 3; REFUSED_STREAM; received from peer")},
	"marked":           guard.NotExecuted(io.EOF),
	"marked outermost": guard.NotExecuted(guard.OutcomeUnknown(io.EOF)),
	"marked, wrapped":  fmt.Errorf("%w: %w", errNo, guard.NotExecuted(io.EOF)),
}

// justFailed are errors of work that sent no request, or got an answer.
var justFailed = map[string]error{
	"no":      errNo,
	"wrapped": fmt.Errorf("card declined: %w", errNo),
	"gRPC":    errors.New("rpc error: code = FailedPrecondition desc = card declined"),
	"a URL":   &url.Error{Op: "parse", URL: ":", Err: errors.New("missing protocol scheme")},
	"a file":  &os.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT},
}

func TestClassify(t *testing.T) {
	for class, errs := range map[guard.ErrorClass]map[string]error{
		guard.ClassUnknown: brokenAfterSending, guard.ClassNotSent: neverSent, guard.ClassFailed: justFailed,
	} {
		for name, err := range errs {
			if got := guard.Classify(err); got != class {
				t.Errorf("%s: Classify(%v) = %q, want %q", name, err, got, class)
			}
		}
	}
	if got := guard.Classify(nil); got != "" {
		t.Errorf("Classify(nil) = %q, want \"\"", got)
	}
}

// TestBrokenConnection charges at a bank that counts each request and then fails. It
// repeats the charge with the same key, as a client with retries does.
func TestBrokenConnection(t *testing.T) {
	hangUp := func(w http.ResponseWriter, half string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, half)
		_ = conn.Close()
	}
	for name, fail := range map[string]func(http.ResponseWriter){
		"the bank counts and hangs up":               func(w http.ResponseWriter) { hangUp(w, "") },
		"the bank hangs up in the middle of a reply": func(w http.ResponseWriter) { hangUp(w, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nrec") },
		"the bank hangs up in the middle of a line":  func(w http.ResponseWriter) { hangUp(w, "HTTP/1.1 2") },
		"the bank resets the connection": func(w http.ResponseWriter) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			var charges atomic.Int64
			bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if charges.Add(1) == 1 {
					fail(w)
				}
			}))
			defer bank.Close()
			g := guard.Must(guard.New[string](interlock.New(nil), guard.Charge("pay")))
			charge := func(ctx context.Context) (string, error) {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, bank.URL, strings.NewReader("700"))
				if err != nil {
					return "", err
				}
				resp, err := bank.Client().Do(req)
				if err != nil {
					return "", err
				}
				defer resp.Body.Close()
				receipt, err := io.ReadAll(resp.Body)
				return string(receipt), err
			}
			if _, err := g.Do(t.Context(), key, charge); err == nil {
				t.Fatal("the first charge succeeded, want an error")
			}
			if _, err := g.Do(t.Context(), key, charge); !errors.Is(err, guard.ErrUnknown) {
				t.Errorf("the repeat got error %v, want ErrUnknown", err)
			}
			if n := charges.Load(); n != 1 {
				t.Errorf("the bank was charged %d times, want once", n)
			}
		})
	}
}

var classifyLaws = []law{
	{"with Hold, a connection that breaks after sending is an unknown outcome", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		for name, broken := range brokenAfterSending {
			k, j := guard.Of("ann", name), work("a", 0)
			fails(t, g, k, &job{err: broken}, broken)
			fails(t, g, k, j, guard.ErrUnknown)
			j.want(t, 0)
		}
	}},
	{"with Hold, a request that was never sent may run again", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		for _, errs := range []map[string]error{neverSent, justFailed} {
			for _, broken := range errs {
				k := guard.Of("ann", broken.Error())
				fails(t, g, k, &job{err: broken}, broken)
				do(t, g, k, work("a", 0), "a")
			}
		}
	}},
	{"a policy's Classify is asked before the table, and marks win over both", func(t *testing.T, w *world) {
		errBusy, errCut := errors.New("grpc: unavailable"), errors.New("driver: connection cut")
		p := strict
		p.Classify = func(err error) guard.ErrorClass {
			switch {
			case errors.Is(err, errBusy):
				return guard.ClassNotSent
			case errors.Is(err, errCut):
				return guard.ClassUnknown
			}
			return "" // the table decides
		}
		g := process[string](t, w, p)
		for i, c := range []struct {
			err     error
			unknown bool
		}{
			{errors.Join(errBusy, io.EOF), false},
			{fmt.Errorf("commit: %w", errCut), true},
			{io.EOF, true},
			{errNo, false},
			{guard.NotExecuted(errCut), false},
			{guard.OutcomeUnknown(errBusy), true},
		} {
			k := guard.Of("ann", fmt.Sprint(i))
			fails(t, g, k, &job{err: c.err}, c.err)
			if c.unknown {
				fails(t, g, k, work("a", 0), guard.ErrUnknown)
			} else {
				do(t, g, k, work("a", 0), "a")
			}
		}
	}},
}
