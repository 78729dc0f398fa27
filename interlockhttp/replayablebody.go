package interlockhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// A replayableBody is the body of a request for several tries.
type replayableBody struct {
	first     io.ReadCloser
	get       func() (io.ReadCloser, error) // nil if the body can be sent only once
	sizeKnown bool                          // size is set; the request may not have a length
	size      int64
}

// newReplayableBody returns the body of a request. Without a GetBody, it reads up to limit
// bytes into memory; a larger body can be sent once.
func newReplayableBody(req *http.Request, limit int64) (replayableBody, error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return replayableBody{first: req.Body, get: func() (io.ReadCloser, error) { return http.NoBody, nil }}, nil
	case req.GetBody != nil:
		return replayableBody{first: req.Body, get: req.GetBody}, nil
	case req.ContentLength > limit:
		return replayableBody{first: req.Body}, nil
	}
	unblock := context.AfterFunc(req.Context(), func() { _ = req.Body.Close() }) // unblocks Read, as in net/http
	kept, err := io.ReadAll(io.LimitReader(req.Body, limit+1))
	if !unblock() {
		return replayableBody{}, fmt.Errorf("interlockhttp: the context ended while reading the request body; nothing was sent: %w", context.Cause(req.Context()))
	}
	if err != nil {
		return replayableBody{}, fmt.Errorf("interlockhttp: reading the request body failed; nothing was sent: %w", err)
	}
	if int64(len(kept)) > limit {
		return replayableBody{first: &spliced{io.MultiReader(bytes.NewReader(kept), req.Body), req.Body}}, nil
	}
	if err := req.Body.Close(); err != nil {
		return replayableBody{}, fmt.Errorf("interlockhttp: closing the request body failed; nothing was sent: %w", err)
	}
	get := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(kept)), nil }
	first, _ := get()
	return replayableBody{first: first, get: get, sizeKnown: true, size: int64(len(kept))}, nil
}

// spliced is a body whose beginning was read before.
type spliced struct {
	io.Reader
	io.Closer
}

// reopen returns the body for another try. It reports false if the body can be sent only
// once.
func (r *replayableBody) reopen() (io.ReadCloser, bool) {
	if r.get == nil {
		return nil, false
	}
	body, err := r.get()
	return body, err == nil
}

// attach sets the body of a try. GetBody lets net/http use another connection if the first
// was closed before anything was written, which does not count as sent.
func (r *replayableBody) attach(req *http.Request, body io.ReadCloser) {
	req.Body, req.GetBody = body, r.get
	if !r.sizeKnown || req.ContentLength > 0 || len(req.Trailer) > 0 {
		return // net/http detects a wrong length; trailers rule a length out
	}
	if req.ContentLength = r.size; r.size == 0 {
		req.Body = http.NoBody
	}
}
