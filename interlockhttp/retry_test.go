package interlockhttp_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

func TestRetried(t *testing.T) {
	for _, c := range []struct {
		name  string
		first scriptedReply
		again bool // whether the transport retries
	}{
		{"a reset connection", fails(errReset), true},
		{"a refused connection", fails(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}), true},
		{"a response that ends before its header", fails(io.EOF), true},
		{"a truncated response", fails(io.ErrUnexpectedEOF), true},
		{"a timeout of the transport", fails(&net.DNSError{IsTimeout: true}), true},
		{"an unknown error", fails(errors.New("http: server closed idle connection")), true},
		{"an invalid certificate", fails(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), false},
		{"a certificate for another name", fails(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "pay.example"}), false},
		{"an expired certificate", fails(x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired}), false},
		{"a certificate of an unknown authority", fails(x509.UnknownAuthorityError{}), false},
		{"a server that does not speak TLS", fails(tls.RecordHeaderError{Msg: "no TLS"}), false},

		{"200", respondsWith(200), false},
		{"201", respondsWith(201, "Retry-After: 1"), false},
		{"303", respondsWith(303), false},
		{"400", respondsWith(400), false},
		{"401", respondsWith(401), false},
		{"402", respondsWith(402), false},
		{"404", respondsWith(404), false},
		{"408", respondsWith(408), true},
		{"409", respondsWith(409), false},
		{"409 with a Retry-After", respondsWith(409, "Retry-After: 1"), true},
		{"410", respondsWith(410), false},
		{"422", respondsWith(422, "Retry-After: 1"), false},
		{"423", respondsWith(423, "Retry-After: 1"), false},
		{"425", respondsWith(425), true},
		{"429", respondsWith(429), true},
		{"500", respondsWith(500), true},
		{"501", respondsWith(501), false},
		{"502", respondsWith(502), true},
		{"503", respondsWith(503), true},
		{"504", respondsWith(504), true},
		{"505", respondsWith(505), false},

		{"a problem: the request is in progress", respondsWithProblem(409, `{"code":"in_progress","retryable":true,"same_key":true}`), true},
		{"the same with another status", respondsWithProblem(423, `{"code":"in_progress","retryable":true,"same_key":true}`), true},
		{"a problem: the lock is held", respondsWithProblem(423, `{"code":"locked","retryable":true,"same_key":true}`), true},
		{"a problem: the store is down", respondsWithProblem(503, `{"code":"store_unavailable","retryable":true,"same_key":true}`), true},
		{"a problem: the outcome is unknown", respondsWithProblem(409, `{"code":"outcome_unknown","retryable":false}`, "Retry-After: 1"), false},
		{"another conflict, which is retryable", respondsWithProblem(409, `{"code":"failed_before","retryable":true,"same_key":true}`, "Retry-After: 1"), false},
		{"a problem that is not retryable", respondsWithProblem(503, `{"code":"record_corrupt","retryable":false,"same_key":true}`), false},
		{"a problem that requires a new key", respondsWithProblem(429, `{"code":"too_many_waiters","retryable":true,"same_key":false}`), false},
		{"a problem: the request is a duplicate", respondsWithProblem(429, `{"code":"duplicate","retryable":true,"same_key":true}`), false},
		{"a problem of another service", respondsWithProblem(503, `{"title":"down for maintenance"}`), true},
		{"a conflict of another service", respondsWithProblem(409, `{"title":"version conflict"}`, "Retry-After: 1"), false},
		{"a problem with a code of another service", respondsWithProblem(503, `{"code":"DB_DOWN"}`), true},
	} {
		inVirtualTime(c.name, t, func(t *testing.T) {
			s, want := &scriptedTransport{replies: []scriptedReply{c.first, respondsWith(299)}}, 1
			status, err := post(t, transport(s), strings.NewReader("body"))
			if c.again {
				want = 2
				if status != 299 || err != nil {
					t.Errorf("the response is %d, error %v; want the second one, 299", status, err)
				}
			}
			s.want(t, want)
		})
	}
}

func TestRetryPauses(t *testing.T) {
	shortBackoff := interlockhttp.Backoff(time.Millisecond, 2*time.Millisecond)
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // the time at which a synctest bubble begins
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		name string
		line scriptedReply
		want time.Duration
	}{
		{"the server's number of seconds", respondsWith(503, "Retry-After: 7"), 7 * time.Second},
		{"the time until the server's date", respondsWith(503, "Retry-After: "+at(9*time.Second)), 9 * time.Second},
		{"measured by the server's clock, if it sends its time", respondsWith(503, "Retry-After: "+at(time.Hour+3*time.Second), "Date: "+at(time.Hour)), 3 * time.Second},
		{"zero for a date in the past", respondsWith(503, "Retry-After: "+at(-9*time.Second)), 0},
		{"zero for a negative number", respondsWith(503, "Retry-After: -7"), 0},
		{"zero for garbage", respondsWith(503, "Retry-After: soon"), 0},
		{"zero for a fraction, which the field does not allow", respondsWith(503, "Retry-After: 7.5"), 0},
		{"at most MaxRetryAfter", respondsWith(503, "Retry-After: 3600"), 20 * time.Second},
		{"at most MaxRetryAfter, with more seconds than a time.Duration holds", respondsWith(503, "Retry-After: 9223372037"), 20 * time.Second},
		{"at most MaxRetryAfter, with more digits than an int64 holds", respondsWith(503, "Retry-After: 99999999999999999999999"), 20 * time.Second},
		{"the problem's number of milliseconds", respondsWithProblem(409, `{"code":"in_progress","retryable":true,"same_key":true,"retry_after_ms":1250}`, "Retry-After: 2"), 1250 * time.Millisecond},
	} {
		inVirtualTime("the pause is "+c.name, t, func(t *testing.T) {
			s := &scriptedTransport{replies: []scriptedReply{c.line, respondsWith(200)}}
			rt := transport(s, shortBackoff, interlockhttp.MaxRetryAfter(20*time.Second), interlockhttp.OnRetry(func(r interlockhttp.Retry) {
				if r.After < c.want {
					t.Errorf("OnRetry reports a pause of %v, want at least %v", r.After, c.want)
				}
			}))
			if status, err := post(t, rt, nil); status != 200 || err != nil {
				t.Fatalf("the response is %d, error %v; want 200", status, err)
			}
			if took := s.seen[1].at.Sub(s.seen[0].at); took < c.want || took > c.want+time.Millisecond {
				t.Errorf("the pause was %v, want %v and up to a millisecond of jitter", took, c.want)
			}
		})
	}
	inVirtualTime("jitter is added to the server's pause, which is never shortened", t, func(t *testing.T) {
		var first time.Duration
		differs := false
		for i := range 20 {
			s := &scriptedTransport{replies: []scriptedReply{respondsWith(503, "Retry-After: 1"), respondsWith(200)}}
			_, _ = post(t, transport(s), nil)
			took := s.seen[1].at.Sub(s.seen[0].at)
			if took < time.Second {
				t.Errorf("the pause was %v, want at least 1s", took)
			}
			if i == 0 {
				first = took
			}
			differs = differs || took != first
		}
		if !differs {
			t.Error("all pauses are the same")
		}
	})
	inVirtualTime("without a hint from the server, random pauses double up to a limit", t, func(t *testing.T) {
		longest := make([]time.Duration, 5)
		for range 200 {
			s := &scriptedTransport{replies: []scriptedReply{respondsWith(503)}}
			_, _ = post(t, transport(s, interlockhttp.Attempts(6), interlockhttp.Backoff(100*time.Millisecond, 500*time.Millisecond)), nil)
			s.want(t, 6)
			for i := range longest {
				longest[i] = max(longest[i], s.seen[i+1].at.Sub(s.seen[i].at))
			}
		}
		for i, most := range []int{100, 200, 400, 500, 500} {
			if most := time.Duration(most) * time.Millisecond; longest[i] > most || longest[i] < most*3/4 {
				t.Errorf("of 200 pauses number %d, the longest is %v, want nearly %v", i+1, longest[i], most)
			}
		}
	})
	inVirtualTime("a canceled context ends the pause at once, with its cause", t, func(t *testing.T) {
		errShutdown := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		time.AfterFunc(3*time.Second, func() { cancel(errShutdown) })
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(503, "Retry-After: 10")}}
		_, err := postWith(ctx, t, transport(s), strings.NewReader("body"))
		var gaveUp *interlockhttp.GaveUpError
		if !errors.Is(err, errShutdown) || !errors.As(err, &gaveUp) || gaveUp.Tries != 1 || !gaveUp.Sent {
			t.Errorf("the error is %v, want a GaveUpError after 1 try with the cause of the context", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("the request took %v, want 3s", took)
		}
		s.want(t, 1)
	})
}

func TestRetryBounds(t *testing.T) {
	every := func(d time.Duration) interlockhttp.TransportOption { return interlockhttp.Backoff(d, d) }
	minute := respondsWith(503, "Retry-After: 60")
	inVirtualTime("by default there are four tries, and the last response is returned", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(500), respondsWith(502), respondsWith(503), respondsWithBody(504, "still busy")}}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pay.example/", strings.NewReader("body"))
		resp, err := transport(s).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusGatewayTimeout || string(b) != "still busy" || err != nil {
			t.Errorf("the response is %d %q, error %v; want the last one, 504 still busy", resp.StatusCode, b, err)
		}
		s.want(t, 4)
	})
	inVirtualTime("a problem that was read is still there for the caller", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWithProblem(409, `{"code":"outcome_unknown","retryable":false}`)}}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pay.example/", http.NoBody)
		resp, err := transport(s).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); !bytes.Contains(b, []byte("outcome_unknown")) || err != nil {
			t.Errorf("the body is %q, error %v; want the problem", b, err)
		}
	})
	inVirtualTime("Attempts bounds the tries", t, func(t *testing.T) {
		for n := 1; n < 6; n++ {
			s := &scriptedTransport{replies: []scriptedReply{fails(errReset)}}
			_, err := post(t, transport(s, interlockhttp.Attempts(n)), nil)
			var gaveUp *interlockhttp.GaveUpError
			if !errors.As(err, &gaveUp) || gaveUp.Tries != n {
				t.Errorf("with Attempts(%d) the error is %v, want a GaveUpError after %d tries", n, err, n)
			}
			s.want(t, n)
		}
	})
	inVirtualTime("by default no retry begins after 30 seconds", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(503, "Retry-After: 8")}}
		start := time.Now()
		_, _ = post(t, transport(s, interlockhttp.Attempts(100), every(time.Nanosecond)), nil)
		s.want(t, 4) // after 0, 8, 16 and 24 seconds
		if took := time.Since(start); took >= 25*time.Second {
			t.Errorf("the transport gave up after %v, want at once after the try at 24s", took)
		}
	})
	inVirtualTime("RetryFor bounds the time", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{minute}}
		_, _ = post(t, transport(s, interlockhttp.Attempts(100), every(time.Nanosecond), interlockhttp.RetryFor(10*time.Minute)), nil)
		s.want(t, 10)
	})
	inVirtualTime("a pause that would outlast the context's deadline is not started", t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s, start := &scriptedTransport{replies: []scriptedReply{respondsWith(503, "Retry-After: 6")}}, time.Now()
		if status, err := postWith(ctx, t, transport(s), nil); status != 503 || err != nil {
			t.Errorf("the response is %d, error %v; want 503", status, err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the request took %v, want no pause", took)
		}
		s.want(t, 1)
	})
	inVirtualTime("by default a key lasts for a day", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(503, "Retry-After: 3600")}}
		_, _ = post(t, transport(s, interlockhttp.Attempts(100), every(time.Nanosecond),
			interlockhttp.RetryFor(100*time.Hour), interlockhttp.MaxRetryAfter(2*time.Hour)), nil)
		s.want(t, 24)
	})
	inVirtualTime("no retry begins after the Lifetime of the key", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{minute}}
		_, _ = post(t, transport(s, interlockhttp.Attempts(100), every(time.Nanosecond),
			interlockhttp.RetryFor(time.Hour), interlockhttp.Lifetime(3*time.Minute)), nil)
		s.want(t, 3)
	})
	inVirtualTime("a long Lifetime does not extend the retries", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(503, "Retry-After: 8")}}
		_, _ = post(t, transport(s, interlockhttp.Attempts(100), every(time.Nanosecond), interlockhttp.Lifetime(time.Hour)), nil)
		s.want(t, 4)
	})
	inVirtualTime("no retry follows after the server's Idempotency-Expires", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(503, "Retry-After: 60", "Idempotency-Expires: 240"), minute}}
		_, _ = post(t, transport(s, interlockhttp.Attempts(100), every(time.Nanosecond), interlockhttp.RetryFor(time.Hour)), nil)
		s.want(t, 4)
	})
	inVirtualTime("the earlier of two expiry times counts, and garbage is ignored", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{
			respondsWith(503, "Retry-After: 60", "Idempotency-Expires: 300"), respondsWith(503, "Retry-After: 60", "Idempotency-Expires: 150"),
			respondsWith(503, "Retry-After: 60", "Idempotency-Expires: 86400"), respondsWith(503, "Retry-After: 60", "Idempotency-Expires: -1"),
		}}
		_, _ = post(t, transport(s, interlockhttp.Attempts(100), every(time.Nanosecond), interlockhttp.RetryFor(time.Hour)), nil)
		s.want(t, 3)
	})
	inVirtualTime("the end of the caller's context is not retried", t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &scriptedTransport{replies: []scriptedReply{func(*http.Request) (*http.Response, error) { cancel(); return nil, ctx.Err() }}}
		never := interlockhttp.OnRetry(func(r interlockhttp.Retry) { t.Errorf("OnRetry was called with %+v", r) })
		if _, err := postWith(ctx, t, transport(s, never), nil); !errors.Is(err, context.Canceled) || !errors.Is(err, guard.ErrUnknown) {
			t.Errorf("the error is %v, want context.Canceled and guard.ErrUnknown", err)
		}
		s.want(t, 1)
	})
	inVirtualTime("a nil response without an error is left to http.Client", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{func(*http.Request) (*http.Response, error) { return nil, nil }}} //nolint:nilnil // against the contract
		client := &http.Client{Transport: transport(s)}
		resp, err := client.Post("http://pay.example/", "text/plain", http.NoBody)
		if err == nil {
			resp.Body.Close()
			t.Error("http.Client returned no error for a nil response")
		}
		s.want(t, 1)
	})
	inVirtualTime("an ended context sends nothing", t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errReset)
		s, body := &scriptedTransport{replies: []scriptedReply{respondsWith(200)}}, &plain{Reader: strings.NewReader("body")}
		if _, err := postWith(ctx, t, transport(s), body); !errors.Is(err, errReset) {
			t.Errorf("the error is %v, want the cause of the context", err)
		}
		if s.want(t, 0); body.closed == 0 {
			t.Error("the request body was not closed")
		}
		if _, err := postWith(ctx, t, transport(s), strings.NewReader("a body with GetBody")); !errors.Is(err, errReset) {
			t.Errorf("the error is %v, want the cause of the context", err)
		}
		s.want(t, 0)
	})
}

func TestGaveUpError(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		name    string
		replies []scriptedReply
		cause   error
		sent    bool
		text    string
	}{
		{"without a response the outcome is unknown", []scriptedReply{fails(errReset)}, syscall.ECONNRESET, true, "after 4 tries; the outcome is unknown"},
		{"without a connection nothing was sent", []scriptedReply{fails(refused)}, syscall.ECONNREFUSED, false, "after 4 tries; nothing was sent"},
		{"without a connection to the proxy nothing was sent", []scriptedReply{fails(&net.OpError{Op: "proxyconnect", Net: "tcp", Err: syscall.ECONNREFUSED})}, syscall.ECONNREFUSED, false, "nothing was sent"},
		{"one try that may have arrived makes the outcome unknown", []scriptedReply{fails(errReset), fails(refused)}, syscall.ECONNREFUSED, true, "the outcome is unknown"},
		{"a retryable response leaves the outcome unknown", []scriptedReply{respondsWith(503), fails(refused)}, syscall.ECONNREFUSED, true, "the outcome is unknown"},
		{"a server with a wrong certificate got nothing", []scriptedReply{fails(x509.UnknownAuthorityError{})}, nil, false, "after 1 try; nothing was sent"},
	} {
		inVirtualTime(c.name, t, func(t *testing.T) {
			ctx := interlockhttp.WithKey(t.Context(), "secret-key")
			_, err := postWith(ctx, t, transport(&scriptedTransport{replies: c.replies}), strings.NewReader("body"))
			var gaveUp *interlockhttp.GaveUpError
			if !errors.As(err, &gaveUp) || gaveUp.Sent != c.sent || gaveUp.Key != "secret-key" {
				t.Fatalf("the error is %#v, want a GaveUpError with the key and Sent: %v", err, c.sent)
			}
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("errors.Is does not find the cause %v in %v", c.cause, err)
			}
			if errors.Is(err, guard.ErrUnknown) != c.sent {
				t.Errorf("the error matches guard.ErrUnknown: %v, want %v", !c.sent, c.sent)
			}
			if text := fmt.Sprintf("%+v", err); !strings.Contains(text, c.text) || strings.Contains(text, "secret") {
				t.Errorf("the text is %q, want %q in it and no key", text, c.text)
			}
		})
	}
}

func TestOnRetry(t *testing.T) {
	inVirtualTime("every pause is reported before it begins, without the key", t, func(t *testing.T) {
		var got []interlockhttp.Retry
		start := time.Now()
		report := interlockhttp.OnRetry(func(r interlockhttp.Retry) {
			if len(got) == 0 && time.Since(start) != 0 {
				t.Error("the first retry was reported after its pause")
			}
			got = append(got, r)
		})
		s := &scriptedTransport{replies: []scriptedReply{
			fails(errReset), respondsWith(503, "Retry-After: 2"), respondsWithProblem(409, `{"code":"in_progress","retryable":true,"same_key":true}`), respondsWith(200),
		}}
		ctx := interlockhttp.WithKey(t.Context(), "secret-key")
		if status, err := postWith(ctx, t, transport(s, report), nil); status != 200 || err != nil {
			t.Fatalf("the response is %d, error %v; want 200", status, err)
		}
		want := []interlockhttp.Retry{
			{Attempt: 1, Err: errReset}, {Attempt: 2, Status: 503}, {Attempt: 3, Status: 409, Code: interlockhttp.InProgress},
		}
		for i, r := range got {
			if r.After != s.seen[i+1].at.Sub(s.seen[i].at) {
				t.Errorf("retry %d reports a pause of %v, and the pause was %v", i+1, r.After, s.seen[i+1].at.Sub(s.seen[i].at))
			}
			if strings.Contains(fmt.Sprintf("%#v", r), "secret") {
				t.Errorf("the report %#v contains the key", r)
			}
			if r.Intent == "" || r.Intent != got[0].Intent {
				t.Errorf("the intent of retry %d is %q, want that of the first, %q", i+1, r.Intent, got[0].Intent)
			}
			if r.After, r.Intent = 0, ""; r != want[i] {
				t.Errorf("retry %d is %+v, want %+v", i+1, r, want[i])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d retries were reported, want %d", len(got), len(want))
		}
	})
	inVirtualTime("without a retry nothing is reported", t, func(t *testing.T) {
		never := interlockhttp.OnRetry(func(r interlockhttp.Retry) { t.Errorf("OnRetry was called with %+v", r) })
		_, _ = post(t, transport(&scriptedTransport{replies: []scriptedReply{respondsWith(503)}}, never, interlockhttp.Attempts(1)), nil)
		_, _ = post(t, transport(&scriptedTransport{replies: []scriptedReply{respondsWith(400)}}, never), nil)
		_, _ = post(t, transport(&scriptedTransport{replies: []scriptedReply{respondsWith(503, "Retry-After: 40")}}, never), nil)
	})
}
