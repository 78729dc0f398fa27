// Package envoytest has a small Envoy for tests: a reverse proxy that asks an ext_proc
// server about each request, in the order and by the rules of the protocol. It reports
// answers that Envoy would refuse as errors of the test. It is not Envoy: it knows the
// processing modes SEND, SKIP, BUFFERED and NONE, and nothing of routes.
package envoytest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	modev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
)

// A Config is the filter's configuration.
type Config struct {
	Servers  []string // addresses of ext_proc servers, used in turn
	Upstream string   // the URL of the upstream

	// Mode is the processing mode. Default: SEND for headers, BUFFERED for bodies, SKIP for
	// trailers.
	Mode *modev3.ProcessingMode

	ForbidModeOverride bool
	Observability      bool          // observability_mode
	NoAttributes       bool          // response_attributes is empty
	NoTiming           bool          // suppress_envoy_headers
	MessageTimeout     time.Duration // Default: 1m
	UpstreamTimeout    time.Duration // the route's timeout. Default: none
	TimeoutStatus      int           // the status after it. Default: 504; max_stream_duration may answer 408
	BufferLimit        int           // bytes of a body. Default: 1 MiB
	Attempts           int           // upstream.request_attempt_count. Default: 1

	// Cut, if not nil, is called at each point of a request: "request_headers sent" before
	// the answer, "request_headers answered" after it, and so on for request_body,
	// request_trailers, response_headers, response_body and response_trailers; and
	// "upstream answered". If it returns true, Envoy dies there: it closes the stream and
	// the connections of the request.
	Cut func(point string) bool

	// HalfClose makes Cut close the stream in order, and wait until the server has ended it.
	HalfClose bool
}

// An Envoy is a running proxy.
type Envoy struct {
	URL      string
	Messages atomic.Int64 // messages sent to the servers

	t       testing.TB
	config  Config
	clients []extprocv3.ExternalProcessorClient
	turn    atomic.Uint64
	front   *httptest.Server
	back    *http.Transport
}

// Start starts an Envoy, which ends with the test.
func Start(t testing.TB, c Config) *Envoy {
	t.Helper()
	if c.Mode == nil {
		c.Mode = &modev3.ProcessingMode{
			RequestHeaderMode: modev3.ProcessingMode_SEND, ResponseHeaderMode: modev3.ProcessingMode_SEND,
			RequestBodyMode: modev3.ProcessingMode_BUFFERED, ResponseBodyMode: modev3.ProcessingMode_BUFFERED,
		}
	}
	if c.MessageTimeout == 0 {
		c.MessageTimeout = time.Minute
	}
	if c.BufferLimit == 0 {
		c.BufferLimit = 1 << 20
	}
	if c.Attempts == 0 {
		c.Attempts = 1
	}
	if c.TimeoutStatus == 0 {
		c.TimeoutStatus = http.StatusGatewayTimeout
	}
	e := &Envoy{t: t, config: c, back: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	for _, address := range c.Servers {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		e.clients = append(e.clients, extprocv3.NewExternalProcessorClient(conn))
	}
	e.front = httptest.NewServer(http.HandlerFunc(e.serve))
	e.URL = e.front.URL
	t.Cleanup(func() {
		e.front.CloseClientConnections()
		e.front.Close()
		e.back.CloseIdleConnections()
	})
	return e
}

// serve proxies one request.
func (e *Envoy) serve(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	f := &filter{Envoy: e, ctx: ctx, cancel: cancel, mode: proto.Clone(e.config.Mode).(*modev3.ProcessingMode), w: w, answers: make(chan answer)}
	if err := f.open(); err != nil {
		f.localReply(http.StatusInternalServerError, nil, nil, "ext_proc_error_gRPC_error_14")
		return
	}
	f.run(r)
}

// A filter is the state of one request.
type filter struct {
	*Envoy
	ctx     context.Context //nolint:containedctx // of one request
	cancel  context.CancelFunc
	w       http.ResponseWriter
	mode    *modev3.ProcessingMode
	stream  extprocv3.ExternalProcessor_ProcessClient
	answers chan answer
	first   bool // the first message was sent
	done    bool // the stream was closed: the rest passes
	replied bool // the client has its response
}

// An answer is what the stream returned.
type answer struct {
	*extprocv3.ProcessingResponse
	err error
}

// open opens the stream.
func (f *filter) open() (err error) {
	client := f.clients[f.turn.Add(1)%uint64(len(f.clients))]
	if f.stream, err = client.Process(f.ctx); err != nil {
		return err
	}
	go func() { // until the stream ends
		for {
			m, err := f.stream.Recv()
			select {
			case f.answers <- answer{m, err}:
			case <-f.ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return nil
}

// run sends each part of the request and of its response to the server.
func (f *filter) run(r *http.Request) {
	body := r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
	header := headerOf(r.Header, ":method", r.Method, ":path", r.RequestURI, ":authority", r.Host, ":scheme", "http")
	header = append(header, field("x-forwarded-for", strings.Split(r.RemoteAddr, ":")[0]), field("x-forwarded-proto", "http"), field("x-request-id", "5f1b4a2e"))
	if len(r.TransferEncoding) > 0 {
		header = append(header, field("transfer-encoding", "chunked"))
	}
	out := toHeader(header)
	if !f.ask("request_headers", &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_RequestHeaders{
		RequestHeaders: &extprocv3.HttpHeaders{Headers: header.proto(), EndOfStream: !body},
	}}, out) {
		return
	}
	var text []byte
	if body {
		var ok bool
		if text, ok = f.read(r.Body); !ok {
			return
		}
		if f.mode.RequestBodyMode == modev3.ProcessingMode_BUFFERED && !f.done {
			if len(text) > f.config.BufferLimit {
				f.answer(r, local(http.StatusRequestEntityTooLarge, "Payload Too Large"), "request_payload_too_large") //nolint:bodyclose // answer closes it
				return
			}
			if len(text) > 0 || len(r.Trailer) == 0 {
				if !f.ask("request_body", &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_RequestBody{
					RequestBody: &extprocv3.HttpBody{Body: text, EndOfStream: len(r.Trailer) == 0},
				}}, out) {
					return
				}
			}
		}
		if len(r.Trailer) > 0 && f.mode.RequestTrailerMode == modev3.ProcessingMode_SEND {
			if !f.ask("request_trailers", &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_RequestTrailers{
				RequestTrailers: &extprocv3.HttpTrailers{Trailers: headerOf(r.Trailer).proto()},
			}}, nil) {
				return
			}
		}
	}
	f.respond(r, out, text)
}

// read reads the body of the request. It returns false if the server has ended the request
// meanwhile.
func (f *filter) read(body io.Reader) ([]byte, bool) {
	type result struct {
		text []byte
		err  error
	}
	got := make(chan result, 1)
	go func() { // until the request ends
		text, err := io.ReadAll(body)
		got <- result{text, err}
	}()
	for {
		select {
		case a := <-f.unasked():
			if !f.unexpected(a) {
				return nil, false
			}
		case r := <-got:
			if r.err != nil {
				f.abort()
			}
			return r.text, true
		}
	}
}

// unasked returns the channel of answers while nothing was asked.
func (f *filter) unasked() <-chan answer {
	if f.done {
		return nil
	}
	return f.answers
}

// unexpected handles an answer while nothing was asked. It returns false if the client has
// its response.
func (f *filter) unexpected(a answer) bool {
	if a.err == nil {
		f.t.Errorf("the server sent %v, and nothing was asked", a.ProcessingResponse)
	}
	return f.ended(a.err)
}

// respond calls the upstream, and sends its response to the server.
func (f *filter) respond(r *http.Request, header http.Header, body []byte) {
	res, details, ok := f.call(r, header, body) //nolint:bodyclose // answer closes it
	if !ok {
		return
	}
	if f.cut("upstream answered") {
		f.abort()
	}
	f.answer(r, res, details)
}

// answer sends a response of the upstream, or one of Envoy itself, to the server.
func (f *filter) answer(r *http.Request, res *http.Response, details string) {
	defer func() { _ = res.Body.Close() }()
	if details == "via_upstream" && !f.config.NoTiming {
		res.Header.Set("X-Envoy-Upstream-Service-Time", "1")
	}
	endless := res.ContentLength == 0 || r.Method == http.MethodHead || res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusNotModified
	sent := headerOf(res.Header, ":status", fmt.Sprint(res.StatusCode))
	if res.ContentLength >= 0 && res.Header.Get("Content-Length") == "" && !endless {
		sent = append(sent, field("content-length", fmt.Sprint(res.ContentLength)))
	}
	out := toHeader(sent)
	if f.mode.ResponseHeaderMode != modev3.ProcessingMode_SKIP {
		if !f.ask("response_headers", &extprocv3.ProcessingRequest{
			Request:    &extprocv3.ProcessingRequest_ResponseHeaders{ResponseHeaders: &extprocv3.HttpHeaders{Headers: sent.proto(), EndOfStream: endless}},
			Attributes: f.attributes(details),
		}, out) {
			return
		}
	}
	if endless {
		f.send(res.StatusCode, out, nil, nil)
		return
	}
	if f.done || f.mode.ResponseBodyMode != modev3.ProcessingMode_BUFFERED {
		f.passBody(res, out)
		return
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, int64(f.config.BufferLimit)+1))
	switch {
	case err != nil: // the upstream has reset the connection
		f.abort()
	case len(text) > f.config.BufferLimit:
		f.localReply(http.StatusInternalServerError, []byte("Internal Server Error"), nil, "response_payload_too_large")
		return
	}
	if len(text) > 0 || len(res.Trailer) == 0 {
		if !f.ask("response_body", &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_ResponseBody{
			ResponseBody: &extprocv3.HttpBody{Body: text, EndOfStream: len(res.Trailer) == 0},
		}}, out) {
			return
		}
	}
	if len(res.Trailer) > 0 && f.mode.ResponseTrailerMode == modev3.ProcessingMode_SEND {
		if !f.ask("response_trailers", &extprocv3.ProcessingRequest{Request: &extprocv3.ProcessingRequest_ResponseTrailers{
			ResponseTrailers: &extprocv3.HttpTrailers{Trailers: headerOf(res.Trailer).proto()},
		}}, nil) {
			return
		}
	}
	f.send(res.StatusCode, out, text, res.Trailer)
}

// call calls the upstream. If that fails, it returns Envoy's own response, with the details
// of the failure. It returns false if the server has ended the request meanwhile.
func (f *filter) call(r *http.Request, header http.Header, body []byte) (*http.Response, string, bool) {
	ctx := f.ctx
	if f.config.UpstreamTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.config.UpstreamTimeout)
		defer cancel()
	}
	type result struct {
		*http.Response
		err error
	}
	got := make(chan result, 1)
	go func() {
		out, err := http.NewRequestWithContext(ctx, r.Method, f.config.Upstream+r.RequestURI, strings.NewReader(string(body)))
		if err != nil {
			got <- result{nil, err}
			return
		}
		out.GetBody, out.Host = nil, r.Host
		out.Header = header.Clone()
		out.Header.Del("Transfer-Encoding")
		for name, values := range r.Trailer {
			if out.Trailer == nil {
				out.Trailer = make(http.Header)
				out.ContentLength = -1
			}
			out.Trailer[name] = values
		}
		res, err := f.back.RoundTrip(out) //nolint:bodyclose // respond closes it
		if err == nil && f.config.UpstreamTimeout > 0 {
			text, bad := io.ReadAll(res.Body) // before the deadline's cancel
			res.Body, err = io.NopCloser(strings.NewReader(string(text))), bad
		}
		got <- result{res, err}
	}()
	for {
		select {
		case a := <-f.unasked():
			if !f.unexpected(a) {
				return nil, "", false
			}
		case res := <-got:
			switch {
			case res.err == nil:
				return res.Response, "via_upstream", true
			case f.ctx.Err() != nil: // the client has left
				f.abort()
			case ctx.Err() != nil:
				return local(f.config.TimeoutStatus, "upstream request timeout"), "upstream_response_timeout", true
			case errors.Is(res.err, syscall.ECONNREFUSED):
				return local(http.StatusServiceUnavailable, "upstream connect error or disconnect/reset before headers. reset reason: remote connection failure"),
					"upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}", true
			}
			return local(http.StatusServiceUnavailable, "upstream connect error or disconnect/reset before headers. reset reason: connection termination"),
				"upstream_reset_before_response_started{connection_termination}", true
		}
	}
}

// local returns a response that Envoy makes itself.
func local(status int, text string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"text/plain"}},
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)),
	}
}

// ask sends a part to the server, and applies the answer to its header. It returns false if
// the client has its response.
func (f *filter) ask(what string, m *extprocv3.ProcessingRequest, header http.Header) bool {
	if f.done {
		return true
	}
	if !f.first {
		f.first = true
		m.ProtocolConfig = &extprocv3.ProtocolConfiguration{RequestBodyMode: f.config.Mode.RequestBodyMode, ResponseBodyMode: f.config.Mode.ResponseBodyMode}
	}
	m.ObservabilityMode = f.config.Observability
	f.Messages.Add(1)
	_ = f.stream.Send(m) // an error comes with the answer
	if f.cut(what + " sent") {
		f.abort()
	}
	timeout := time.NewTimer(f.config.MessageTimeout)
	defer timeout.Stop()
	select {
	case a := <-f.answers:
		if a.err != nil {
			return f.ended(a.err)
		}
		if f.cut(what + " answered") {
			f.abort()
		}
		return f.apply(what, a.ProcessingResponse, header)
	case <-timeout.C:
		f.localReply(http.StatusGatewayTimeout, nil, nil, "ext_proc_error_per-message_timeout_exceeded")
		return false
	case <-f.ctx.Done():
		f.abort()
		return false
	}
}

// ended handles the end of the stream. It returns false if the client has its response.
func (f *filter) ended(err error) bool {
	f.done = true
	if errors.Is(err, io.EOF) {
		return true // failure_mode_allow has nothing to do with it: the rest passes
	}
	if f.ctx.Err() != nil {
		f.abort()
	}
	f.localReply(http.StatusInternalServerError, nil, nil, "ext_proc_error_gRPC_error")
	return false
}

// cut reports whether Envoy dies at a point.
func (f *filter) cut(point string) bool {
	if f.config.Cut == nil || !f.config.Cut(point) {
		return false
	}
	if f.config.HalfClose {
		_ = f.stream.CloseSend() // the server has the end soon after
		for a := range f.answers {
			if a.err != nil {
				break
			}
		}
	}
	return true
}

// abort ends the request without a response.
func (f *filter) abort() {
	f.cancel()
	panic(http.ErrAbortHandler)
}

// localReply sends a response that Envoy makes itself.
func (f *filter) localReply(status int, body []byte, change *extprocv3.HeaderMutation, _ string) {
	header := http.Header{}
	if len(body) > 0 {
		header.Set("Content-Type", "text/plain")
	}
	if change != nil {
		f.mutate(header, change)
	}
	f.cancel() // the stream and the upstream
	f.done = true
	f.send(status, header, body, nil)
}

// send sends the response to the client.
func (f *filter) send(status int, header http.Header, body []byte, trailer http.Header) {
	f.replied = true
	maps.Copy(f.w.Header(), header)
	f.w.Header().Del("Transfer-Encoding")
	if len(trailer) > 0 {
		f.w.Header().Del("Content-Length")
	} else if len(body) > 0 {
		f.w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	}
	f.w.WriteHeader(status)
	_, _ = f.w.Write(body)
	if len(trailer) > 0 {
		_ = http.NewResponseController(f.w).Flush() // otherwise net/http sends a Content-Length and no trailer
	}
	for name, values := range trailer {
		f.w.Header()[http.TrailerPrefix+name] = values
	}
}

// passBody sends the response to the client as it comes.
func (f *filter) passBody(res *http.Response, header http.Header) {
	maps.Copy(f.w.Header(), header)
	f.w.Header().Del("Transfer-Encoding")
	f.w.WriteHeader(res.StatusCode)
	control, part := http.NewResponseController(f.w), make([]byte, 4096)
	for {
		n, err := res.Body.Read(part)
		_, _ = f.w.Write(part[:n])
		_ = control.Flush()
		if err != nil {
			break
		}
	}
	for name, values := range res.Trailer {
		f.w.Header()[http.TrailerPrefix+name] = values
	}
}

// Close closes the connections of the clients, as if they had left.
func (e *Envoy) Close() { e.front.CloseClientConnections() }

// Refused returns an address that refuses connections.
func Refused(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
