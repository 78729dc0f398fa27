package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
)

// fail tells the client that there is no answer, and the rules what that means:
// nothing was done if nothing was sent, and otherwise nobody knows.
func (b *backend) fail(w http.ResponseWriter, r *http.Request, err error) {
	v := visitOf(r.Context())
	p := v.failure(r.Context(), err)
	v.code, v.cause, v.fate = p.Code, err, interlockhttp.InDoubt
	p.Err = err
	if p.Code != interlockhttp.UpstreamUnknown {
		v.fate = interlockhttp.NotDone
	}
	p.ServeHTTP(w, r)
}

// failure returns the problem of a request that got no answer.
func (v *visit) failure(ctx context.Context, err error) *interlockhttp.Problem {
	var tooLong *http.MaxBytesError
	switch broken := v.body.err(); {
	case errors.As(broken, &tooLong):
		return interlockhttp.NewProblem(interlockhttp.BodyTooLarge)
	case errors.Is(broken, os.ErrDeadlineExceeded):
		return interlockhttp.NewProblem(interlockhttp.BodyLate)
	case broken != nil:
		return interlockhttp.NewProblem(interlockhttp.BodyBroken)
	}
	// What is sent is sent by somebody else, who may not have heard yet that it is over.
	if !v.wire.got || ctx.Err() == nil && !v.wire.wrote() {
		if ctx.Err() == nil && v.wire.target != nil {
			v.wire.target.spared.Store(time.Now().Add(sparedFor).UnixNano())
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

func isTimeout(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}
