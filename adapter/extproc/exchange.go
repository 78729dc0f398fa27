package interlockextproc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	modev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An exchange is a stream: one HTTP request and its response. Envoy sends a message for
// each part, in the order of the phases, and waits for the answer before it continues.
type exchange struct {
	stream   extprocv3.ExternalProcessor_ProcessServer
	ctx      context.Context //nolint:containedctx // of the stream, until Envoy closes it in order
	cancel   context.CancelCauseFunc
	messages chan *extprocv3.ProcessingRequest // closed when the stream has ended
	ended    error                             // why it ended; set before messages is closed

	request  http.Header    // as Envoy sent it
	hasBody  bool           // the request has a body, which was not received yet
	bypassed error          // the upstream has answered already, unguarded
	response *http.Response // as Envoy sent it; nil before
	text     []byte         // the body of the response
	events   bool           // the response is an event stream, whose end is not awaited

	// A handler such as http.TimeoutHandler runs another one in a goroutine, and may return
	// before it. So mu guards the fields below. roundTrip holds sending until the response has
	// arrived, and finish waits for that.
	mu, sending sync.Mutex

	pending  phase     // the message that Envoy waits for an answer to
	passed   bool      // Envoy continues alone
	deadline time.Time // for the body of the request
}

// A phase is a kind of message.
type phase int

const (
	none phase = iota // Envoy does not wait
	requestHeaders
	requestBody
	requestTrailers
	responseHeaders
	responseBody
	responseTrailers
)

// receive passes messages on until the stream ends. If that happens before the response,
// Envoy has ended the request, and handlers must not wait any longer, for a lock, say.
func (x *exchange) receive() {
	defer close(x.messages)
	last := none
	for {
		m, err := x.stream.Recv()
		if err != nil {
			x.ended = err
			if last <= requestTrailers {
				x.cancel(err)
			}
			return
		}
		last = phaseOf(m)
		select {
		case x.messages <- m:
		case <-x.stream.Context().Done():
			x.ended = context.Cause(x.stream.Context())
			return
		}
	}
}

// next waits for the next message.
func (x *exchange) next(ctx context.Context, deadline time.Time) (*extprocv3.ProcessingRequest, error) {
	var late <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case m, ok := <-x.messages:
		if !ok {
			return nil, x.ended
		}
		x.setPending(phaseOf(m))
		return m, nil
	case <-late:
		return nil, os.ErrDeadlineExceeded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// phaseOf returns the phase of a message.
func phaseOf(m *extprocv3.ProcessingRequest) phase {
	switch m.Request.(type) {
	case *extprocv3.ProcessingRequest_RequestHeaders:
		return requestHeaders
	case *extprocv3.ProcessingRequest_RequestBody:
		return requestBody
	case *extprocv3.ProcessingRequest_RequestTrailers:
		return requestTrailers
	case *extprocv3.ProcessingRequest_ResponseHeaders:
		return responseHeaders
	case *extprocv3.ProcessingRequest_ResponseBody:
		return responseBody
	case *extprocv3.ProcessingRequest_ResponseTrailers:
		return responseTrailers
	}
	return none
}

func (x *exchange) setPending(p phase) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pending = p
}

// hasPassed reports whether Envoy continues alone.
func (x *exchange) hasPassed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.passed
}

// waiting returns the phase that Envoy waits in.
func (x *exchange) waiting() phase {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.pending
}

// answer lets Envoy continue, with a change of the header and with another mode for the rest
// of the request. Once Envoy has sent trailers, headers cannot be changed: answer fails for a
// request, which must not be sent with fields that a handler has removed, and leaves the
// header of a response unchanged.
func (x *exchange) answer(change *extprocv3.HeaderMutation, mode *modev3.ProcessingMode) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	common := &extprocv3.CommonResponse{HeaderMutation: change}
	m := &extprocv3.ProcessingResponse{}
	switch x.pending {
	case none:
		return nil
	case requestHeaders:
		m.Response = &extprocv3.ProcessingResponse_RequestHeaders{RequestHeaders: &extprocv3.HeadersResponse{Response: common}}
		m.ModeOverride = mode // Envoy ignores it in the other answers
	case requestBody:
		m.Response = &extprocv3.ProcessingResponse_RequestBody{RequestBody: &extprocv3.BodyResponse{Response: common}}
	case requestTrailers:
		if change != nil {
			return errors.New("interlockextproc: the header of a request with trailers and an empty body cannot be changed")
		}
		m.Response = &extprocv3.ProcessingResponse_RequestTrailers{RequestTrailers: &extprocv3.TrailersResponse{}}
	case responseHeaders:
		m.Response = &extprocv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: &extprocv3.HeadersResponse{Response: common}}
		m.ModeOverride = mode
	case responseBody:
		m.Response = &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: &extprocv3.BodyResponse{Response: common}}
	case responseTrailers:
		m.Response = &extprocv3.ProcessingResponse_ResponseTrailers{ResponseTrailers: &extprocv3.TrailersResponse{}}
	}
	x.pending = none
	return x.stream.Send(m)
}

// guardedMode requests the rest of a request and its response. Without the trailers, Envoy
// would send nothing for an empty body with trailers.
func guardedMode(request modev3.ProcessingMode_BodySendMode) *modev3.ProcessingMode {
	return &modev3.ProcessingMode{
		RequestBodyMode: request, RequestTrailerMode: modev3.ProcessingMode_SEND,
		ResponseHeaderMode: modev3.ProcessingMode_SEND, ResponseBodyMode: modev3.ProcessingMode_BUFFERED, ResponseTrailerMode: modev3.ProcessingMode_SEND,
	}
}

// passMode requests no further message.
func passMode() *modev3.ProcessingMode {
	return &modev3.ProcessingMode{
		RequestTrailerMode: modev3.ProcessingMode_SKIP, ResponseHeaderMode: modev3.ProcessingMode_SKIP, ResponseTrailerMode: modev3.ProcessingMode_SKIP,
	}
}

// A body is the body of a request. Envoy sends it as a whole, after the answer to the
// header, so it is requested only if a handler reads it.
type body struct {
	exchange *exchange
	bytes.Reader
	err error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err == nil && b.exchange.hasBody {
		var text []byte
		text, b.err = b.exchange.readBody()
		b.Reset(text)
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.Reader.Read(p)
}

// Close implements io.Closer.
func (b *body) Close() error { return nil }

// readBody lets Envoy send the body.
func (x *exchange) readBody() ([]byte, error) {
	if err := x.answer(nil, guardedMode(modev3.ProcessingMode_BUFFERED)); err != nil {
		return nil, err
	}
	x.mu.Lock()
	deadline := x.deadline
	x.mu.Unlock()
	m, err := x.next(x.ctx, deadline)
	switch {
	case errors.Is(err, io.EOF): // the stream ended, not the body
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	x.hasBody = false
	switch x.waiting() {
	case requestBody:
		return m.GetRequestBody().GetBody(), nil
	case requestTrailers: // the body is empty
		return nil, nil
	case responseHeaders: // Envoy itself refuses the body, or the filter does not send bodies
		_, pseudo := headerOf(m.GetResponseHeaders().GetHeaders())
		switch pseudo[":status"] {
		case "413":
			return nil, &http.MaxBytesError{}
		case "408":
			return nil, os.ErrDeadlineExceeded
		}
		x.bypassed = status.Errorf(codes.InvalidArgument, "interlockextproc: a response with the status %s came before the body of the request, which may have run unguarded; write request_body_mode: BUFFERED and request_trailer_mode: SEND", pseudo[":status"])
		return nil, x.bypassed
	}
	return nil, unexpected(m, "the body of the request")
}

// unexpected returns the error of a message that violates the protocol.
func unexpected(m *extprocv3.ProcessingRequest, want string) error {
	return status.Errorf(codes.InvalidArgument, "interlockextproc: Envoy sent %T, want %s", m.GetRequest(), want)
}
