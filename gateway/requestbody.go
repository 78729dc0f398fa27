package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// TooManyBodies is the code of a request whose body would exceed config.Limits.Bodies: 503.
const TooManyBodies interlockhttp.Code = "too_many_bodies"

// errTooManyBodies becomes the problem too_many_bodies; see answer.
var errTooManyBodies = errors.New("gateway: the bodies of guarded requests have reached limits.bodies")

// minRate is how fast a client must send a body that no rule reads, in bytes per second,
// once the body timeout has passed. A fixed deadline would break long uploads.
const minRate = 500

// A requestBody is the body of a request as it comes from the client. Rules read it into
// memory, up to a limit that all requests share. After passOn, the transport reads the
// rest, in a goroutine of its own, and sends it to the upstream.
type requestBody struct {
	io.ReadCloser
	gateway *Gateway
	control *http.ResponseController
	limit   int64         // for the bodies of all requests together, in bytes
	timeout time.Duration // see minRate

	held    int64 // bytes in memory
	passing bool
	began   time.Time // when passOn was called
	passed  int64     // bytes
}

// countBody returns the request with a requestBody, unless it has no body.
func (x *exchange) countBody(w http.ResponseWriter, r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	s := x.snapshot.settings
	x.body = &requestBody{
		ReadCloser: r.Body, gateway: x.gateway, control: http.NewResponseController(w), limit: s.limits.Bodies, timeout: s.timeouts.Body,
	}
	r = r.WithContext(r.Context()) // a copy: x.request stays as received
	r.Body = x.body
	return r
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	if b.passing {
		return b.pass(p)
	}
	n, err := b.ReadCloser.Read(p)
	// Only received bytes count, not the announced length.
	if total := b.gateway.bodies.Add(int64(n)); total > b.limit {
		b.gateway.bodies.Add(-int64(n))
		return n, errTooManyBodies
	}
	b.held += int64(n)
	return n, err
}

// pass reads with a deadline, which moves with the bytes that the client sends.
func (b *requestBody) pass(p []byte) (int, error) {
	deadline := b.began.Add(b.timeout + time.Duration(b.passed)*(time.Second/minRate))
	_ = b.control.SetReadDeadline(deadline) // the writer of a test or another middleware may not support deadlines
	n, err := b.ReadCloser.Read(p)
	b.passed += int64(n)
	// After the body, net/http reads the connection to notice a disconnect, and an expired
	// deadline would cancel the request. After an error the deadline stays, so that the
	// server does not wait for the rest.
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// passOn is called before the upstream reads the rest of the body.
func (b *requestBody) passOn() {
	if b != nil && !b.passing {
		b.passing, b.began = true, time.Now()
	}
}

// release returns the memory when the request has ended.
func (b *requestBody) release() {
	if b != nil {
		b.gateway.bodies.Add(-b.held)
	}
}

// tooManyBodies returns the problem of a body above the limit.
func tooManyBodies() *interlockhttp.Problem {
	p := interlockhttp.NewProblem(TooManyBodies)
	p.Status, p.Retryable, p.SameKey, p.RetryAfter, p.Err = http.StatusServiceUnavailable, true, true, time.Second, errTooManyBodies
	p.Message = guard.Message{
		"en": "This request was not executed: the server holds too many request bodies. Retry with the same key in a moment.",
		"zh": "本次请求未执行任何操作：服务端正在处理的请求体过多，请稍后使用同一个幂等键重试。",
	}
	return p
}
