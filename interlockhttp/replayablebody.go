package interlockhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// A replayableBody is the body of a request for as many tries as it takes.
type replayableBody struct {
	first     io.ReadCloser
	get       func() (io.ReadCloser, error) // nil if it can be sent only once
	sizeKnown bool                          // how long it is, which the request may not say
	size      int64
}

// newReplayableBody returns the body of a request. If the request cannot give it again, it is
// read into memory, up to most bytes; of a larger one the rest is read when it is
// sent.
func newReplayableBody(req *http.Request, most int64) (replayableBody, error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return replayableBody{first: req.Body, get: func() (io.ReadCloser, error) { return http.NoBody, nil }}, nil
	case req.GetBody != nil:
		return replayableBody{first: req.Body, get: req.GetBody}, nil
	case req.ContentLength > most:
		return replayableBody{first: req.Body}, nil
	}
	unblock := context.AfterFunc(req.Context(), func() { _ = req.Body.Close() }) // which ends a Read, as net/http has it
	kept, err := io.ReadAll(io.LimitReader(req.Body, most+1))
	if !unblock() {
		return replayableBody{}, fmt.Errorf("interlockhttp: the body of the request did not come in time, so nothing was sent: %w", context.Cause(req.Context()))
	}
	if err != nil {
		return replayableBody{}, fmt.Errorf("interlockhttp: the body of the request cannot be read, so nothing was sent: %w", err)
	}
	if int64(len(kept)) > most {
		return replayableBody{first: &spliced{io.MultiReader(bytes.NewReader(kept), req.Body), req.Body}}, nil
	}
	if err := req.Body.Close(); err != nil {
		return replayableBody{}, fmt.Errorf("interlockhttp: the body of the request cannot be read to its end, so nothing was sent: %w", err)
	}
	get := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(kept)), nil }
	first, _ := get()
	return replayableBody{first: first, get: get, sizeKnown: true, size: int64(len(kept))}, nil
}

// spliced is a body of which the beginning was read already.
type spliced struct {
	io.Reader
	io.Closer
}

// reopen returns the body for another try, if it can be had.
func (r *replayableBody) reopen() (io.ReadCloser, bool) {
	if r.get == nil {
		return nil, false
	}
	body, err := r.get()
	return body, err == nil
}

// attach gives body to a try. GetBody lets net/http try another connection when it
// found one closed before it had written anything, which is no send.
func (r *replayableBody) attach(req *http.Request, body io.ReadCloser) {
	req.Body, req.GetBody = body, r.get
	if !r.sizeKnown || req.ContentLength > 0 || len(req.Trailer) > 0 {
		return // a length that is wrong is for net/http to find; trailers need none
	}
	if req.ContentLength = r.size; r.size == 0 {
		req.Body = http.NoBody
	}
}
