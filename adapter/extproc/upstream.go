package interlockextproc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	modev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// Pass is a handler for requests that need no guard: Envoy continues alone, and Interlock
// does not see the response. Changed header fields of the request are kept.
func Pass(w http.ResponseWriter, r *http.Request) {
	if x := exchangeOf(r.Context()); x != nil {
		if err := x.pass(r); err != nil {
			fail(w, r, err)
		}
	}
}

// A Transport sends requests by letting Envoy continue. It makes a reverse proxy, such as
// package gateway, the handler of a [Server]; the URL of a request has no effect, because
// Envoy's routes choose the upstream.
type Transport struct {
	// Pass, if not nil, reports whether a request needs no guard; see [Pass]. The response
	// then has the status 0, which is not sent.
	Pass func(*http.Request) bool
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r.Context())
	if x == nil {
		return nil, guard.NotExecuted(errors.New("interlockextproc: the request does not come from a Server"))
	}
	if t.Pass == nil || !t.Pass(r) {
		return x.roundTrip(r)
	}
	if err := x.pass(r); err != nil {
		return nil, err
	}
	return &http.Response{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header), Body: http.NoBody, Request: r}, nil
}

// send is the innermost handler: the upstream, as Envoy calls it.
func send(w http.ResponseWriter, r *http.Request) {
	x := exchangeOf(r.Context())
	if x == nil {
		panic("interlockextproc: the context of the request is not that of a Server")
	}
	res, err := x.roundTrip(r) //nolint:bodyclose // it is in memory
	if err != nil {
		fail(w, r, err)
		return
	}
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	if x.events {
		_ = http.NewResponseController(w).Flush() // so that nothing stores it
	}
	_, _ = io.Copy(w, res.Body) // the writer keeps it in memory
}

// fail answers a request that got no response. The middlewares learn whether the upstream
// may have executed it.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	code, outcome := interlockhttp.UpstreamUnknown, interlockhttp.Unknown
	if errors.Is(err, guard.ErrNotExecuted) {
		code, outcome = interlockhttp.UpstreamUnreachable, interlockhttp.NotExecuted
	}
	p := interlockhttp.NewProblem(code)
	p.Err = err
	interlockhttp.Settle(r.Context(), outcome)
	p.ServeHTTP(w, r)
}

// pass lets Envoy continue alone.
func (x *exchange) pass(r *http.Request) error {
	if err := x.answer(change(x.request, r.Header), passMode()); err != nil {
		return guard.NotExecuted(err) // Envoy continues only after the answer
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.passed = true
	return nil
}

// repeating are fields by which a client that Envoy takes for an internal one makes the
// router repeat its request. A server cannot remove them: Envoy ignores changes of X-Envoy-*.
var repeating = []string{"X-Envoy-Retry-On", "X-Envoy-Retry-Grpc-On"}

// roundTrip lets Envoy send the request, and waits for the response. An error that matches
// guard.ErrNotExecuted says that the upstream got nothing.
func (x *exchange) roundTrip(r *http.Request) (*http.Response, error) {
	x.sending.Lock()
	defer x.sending.Unlock()
	if r.Body != nil {
		_ = r.Body.Close() // Envoy has the body
	}
	for _, name := range repeating {
		if x.request.Get(name) != "" {
			return nil, guard.NotExecuted(fmt.Errorf("interlockextproc: %s would repeat the request unseen; remove it before the filter ext_proc", name))
		}
	}
	switch p := x.waiting(); {
	case x.ctx.Err() != nil:
		return nil, guard.NotExecuted(context.Cause(x.ctx))
	case p != requestHeaders && p != requestBody && p != requestTrailers:
		return nil, guard.NotExecuted(errors.New("interlockextproc: the request was sent before, or its body could not be read"))
	}
	if err := x.answer(change(x.request, r.Header), guardedMode(modev3.ProcessingMode_NONE)); err != nil {
		return nil, guard.NotExecuted(err) // Envoy continues only after the answer
	}
	m, err := x.nextResponse(r.Context())
	if err != nil {
		return nil, err
	}
	if err := x.readResponse(r, m); err != nil {
		return nil, err
	}
	res := *x.response
	res.Header = res.Header.Clone()
	if outcome := x.outcome(m); outcome != "" {
		res.Header.Set(outcomeField, outcome)
	}
	return &res, nil
}

// nextResponse waits for a message about the response. It lets those about the rest of the
// request pass.
func (x *exchange) nextResponse(ctx context.Context) (*extprocv3.ProcessingRequest, error) {
	for {
		m, err := x.next(ctx, time.Time{})
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF // the stream has ended, and not the response
		case err != nil:
			return nil, err
		}
		switch x.waiting() {
		case responseHeaders, responseBody, responseTrailers:
			return m, nil
		case none:
			return nil, unexpected(m, "a part of the response")
		}
		if err := x.answer(nil, guardedMode(modev3.ProcessingMode_NONE)); err != nil {
			return nil, err
		}
	}
}

// readResponse reads the response, whose first message is m.
func (x *exchange) readResponse(r *http.Request, m *extprocv3.ProcessingRequest) error {
	headers := m.GetResponseHeaders()
	if headers == nil {
		return unexpected(m, "the header of the response; write response_header_mode: SEND")
	}
	h, pseudo := headerOf(headers.GetHeaders())
	status, err := strconv.Atoi(pseudo[":status"])
	if err != nil || status < 200 || status > 999 {
		return unexpected(m, "a final status")
	}
	x.response = &http.Response{
		Status: pseudo[":status"], StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: http.NoBody, Request: r,
	}
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	switch {
	case headers.GetEndOfStream():
		if n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil && r.Method == http.MethodHead {
			x.response.ContentLength = n
		}
		return nil
	case media == "text/event-stream":
		x.events = true
		x.response.ContentLength, x.response.Body = -1, io.NopCloser(&eventStream{x, r.Context()})
		return nil
	}
	if err := x.answer(nil, guardedMode(modev3.ProcessingMode_NONE)); err != nil {
		return err
	}
	if m, err = x.nextResponse(r.Context()); err != nil {
		return err
	}
	if x.waiting() == responseHeaders {
		return unexpected(m, "the body of the response; write response_body_mode: BUFFERED")
	}
	x.text = m.GetResponseBody().GetBody() // none if the trailers follow at once
	x.response.ContentLength, x.response.Body = int64(len(x.text)), io.NopCloser(bytes.NewReader(x.text))
	return nil
}

// An eventStream is the body of an event stream. It passes through Envoy only, and ends
// with the stream of messages.
type eventStream struct {
	exchange *exchange
	ctx      context.Context //nolint:containedctx // a reader gets no context
}

// Read implements io.Reader.
func (s *eventStream) Read([]byte) (int, error) {
	for {
		if !s.exchange.events {
			return 0, io.EOF // a handler has replaced it
		}
		_, err := s.exchange.next(s.ctx, time.Time{})
		switch {
		case s.ctx.Err() != nil:
			return 0, context.Cause(s.ctx)
		case err != nil:
			return 0, io.EOF // Envoy does not say whether all of it was sent
		}
		if err := s.exchange.answer(nil, passMode()); err != nil {
			return 0, io.EOF
		}
	}
}

// The attributes that tell the responses of Envoy from those of the upstream. The filter
// sends them if response_attributes names them.
const (
	attributesOf   = "envoy.filters.http.ext_proc"
	detailsField   = "response.code_details"
	attemptsField  = "upstream.request_attempt_count"
	viaUpstream    = "via_upstream"
	upstreamTiming = "X-Envoy-Upstream-Service-Time" // set by Envoy's router in responses of the upstream
)

// resetText begins the body of the 503 that an Envoy sends when a connection broke. If the
// upstream is an Envoy itself, this text is the only sign.
const resetText = "upstream connect error or disconnect/reset before headers"

// outcome returns the outcome that the status of the response does not show, as a value of
// outcomeField; "" if the status decides. Envoy answers 503 if it could not connect, and
// also if the connection broke after the request was sent. Package interlockhttp would take
// either for a request that was not executed. m is the message with the header.
func (x *exchange) outcome(m *extprocv3.ProcessingRequest) string {
	status, fields := x.response.StatusCode, m.GetAttributes()[attributesOf].GetFields()
	details, attempts := fields[detailsField].GetStringValue(), fields[attemptsField].GetNumberValue()
	switch {
	case status < http.StatusMultipleChoices:
		return ""
	case attempts > 1: // an earlier attempt may have been executed
		return "unknown"
	case details == viaUpstream, details == "" && x.response.Header.Get(upstreamTiming) != "":
		if status == http.StatusServiceUnavailable && bytes.HasPrefix(x.text, []byte(resetText)) {
			return "unknown"
		}
		return ""
	case status < http.StatusInternalServerError && status != http.StatusRequestTimeout: // a filter behind this one has refused it
		return ""
	case attempts == 1 && notSent(details), refused[details] && fields[attemptsField] != nil:
		return "not-executed"
	}
	return "unknown"
}

// refused are the details of requests that Envoy sent to no server.
var refused = map[string]bool{"no_healthy_upstream": true, "cluster_not_found": true, "maintenance_mode": true}

// notSent reports whether the details say that the only attempt had no connection.
func notSent(details string) bool {
	if refused[details] {
		return true
	}
	reason, ok := strings.CutPrefix(details, "upstream_reset_before_response_started{")
	if !ok {
		return false
	}
	if end := strings.IndexAny(reason, "|,}"); end >= 0 {
		reason = reason[:end]
	}
	switch reason {
	case "remote_connection_failure", "local_connection_failure", "connection_timeout", "overflow":
		return true
	}
	return false
}
