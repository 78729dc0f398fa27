package interlockhttp_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
)

// A scriptedTransport is a RoundTripper with scripted replies that records its requests.
// The last reply is repeated.
type scriptedTransport struct {
	replies []scriptedReply

	mu   sync.Mutex
	seen []sentRequest
}

type (
	scriptedReply func(*http.Request) (*http.Response, error)
	// A sentRequest is a request as the scripted transport received it.
	sentRequest struct {
		at    time.Time
		field []string // the values of the key's field, whatever the case of its name
		body  string
		req   *http.Request
	}
)

func (s *scriptedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	got := sentRequest{at: time.Now(), req: req}
	for name, values := range req.Header {
		if strings.EqualFold(name, "Idempotency-Key") {
			got.field = append(got.field, values...)
		}
	}
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
		got.body = string(b)
	}
	s.mu.Lock()
	s.seen = append(s.seen, got)
	act := s.replies[min(len(s.seen), len(s.replies))-1]
	s.mu.Unlock()
	return act(req)
}

// respondsWith replies with a status and header fields, given as "Name: value".
func respondsWith(status int, header ...string) scriptedReply {
	return respondsWithBody(status, "", header...)
}

func respondsWithBody(status int, body string, header ...string) scriptedReply {
	return func(req *http.Request) (*http.Response, error) {
		h := make(http.Header)
		for _, f := range header {
			name, value, _ := strings.Cut(f, ": ")
			h.Add(name, value)
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
	}
}

// respondsWithProblem replies with a problem.
func respondsWithProblem(status int, problem string, header ...string) scriptedReply {
	return respondsWithBody(status, problem, append(header, "Content-Type: application/problem+json")...)
}

func fails(err error) scriptedReply {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// post sends a request and returns the status of the response.
func post(t *testing.T, rt http.RoundTripper, body io.Reader) (int, error) {
	t.Helper()
	return postWith(t.Context(), t, rt, body)
}

func postWith(ctx context.Context, t *testing.T, rt http.RoundTripper, body io.Reader) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://pay.example/charges", body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, nil
}

// want checks how many requests were sent.
func (s *scriptedTransport) want(t *testing.T, sends int) {
	t.Helper()
	if len(s.seen) != sends {
		t.Errorf("%d requests were sent, want %d", len(s.seen), sends)
	}
}

// inVirtualTime runs f in a synctest bubble.
func inVirtualTime(name string, t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// plain hides the type of a reader from net/http, so that the request has no GetBody.
type plain struct {
	io.Reader
	closed int
}

func (p *plain) Close() error { p.closed++; return nil }

func transport(s *scriptedTransport, opts ...interlockhttp.TransportOption) *interlockhttp.Transport {
	return interlockhttp.NewTransport(s, opts...)
}
