package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// fail answers a request that got no response. The round trip's result tells the rules
// whether the upstream may have executed the request.
func (b *backend) fail(w http.ResponseWriter, r *http.Request, err error) {
	t := roundTripOf(r.Context())
	p := t.failure(r.Context(), err)
	p.Err = err
	t.countFailure(r.Context(), p)
	t.broken = false // counted
	t.result.code, t.result.cause, t.result.outcome = p.Code, err, interlockhttp.NotExecuted
	if p.Code == interlockhttp.UpstreamUnknown {
		t.result.outcome = interlockhttp.Unknown
	}
	p.ServeHTTP(w, r)
}

// failure returns the problem of a request that got no response.
func (t *roundTrip) failure(ctx context.Context, err error) *interlockhttp.Problem {
	var tooLong *http.MaxBytesError
	// The transport reports a broken request body like any other error. Only the body itself
	// knows that the client caused it.
	switch broken := t.body.err(); {
	case errors.As(broken, &tooLong):
		return interlockhttp.NewProblem(interlockhttp.BodyTooLarge)
	case errors.Is(broken, os.ErrDeadlineExceeded):
		return interlockhttp.NewProblem(interlockhttp.BodyLate)
	case broken != nil:
		return interlockhttp.NewProblem(interlockhttp.BodyBroken)
	}
	// After ctx is done, the transport's writer goroutine may still send, so a count of
	// zero bytes proves nothing. An HTTP/2 server may refuse a stream that it has received;
	// it has not executed such a request.
	refused := !t.sent && guard.Classify(err) == guard.ClassNotSent
	if !t.connected || ctx.Err() == nil && (refused || !t.wrote()) {
		// If the client left while the gateway was connecting, the target is not to blame.
		if ctx.Err() == nil {
			t.target.avoidUntil.Store(time.Now().Add(avoidFor).UnixNano())
		}
		p := interlockhttp.NewProblem(interlockhttp.UpstreamUnreachable)
		p.RetryAfter = time.Second
		return p
	}
	p := interlockhttp.NewProblem(interlockhttp.UpstreamUnknown)
	if isTimeout(err) || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		p.Status = http.StatusGatewayTimeout
	}
	return p
}

// isTimeout covers the transport's timeouts, which are not context errors.
func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}
