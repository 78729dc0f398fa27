package gateway

import (
	"bytes"
	"io"
	"mime"
	"net/http"

	"github.com/interlock-go/interlock/interlockhttp"
)

// receive is called with the header of a response. A response that a rule keeps is read
// to its end first: if it breaks off, the client gets an error, and nothing is stored.
func (b *backend) receive(res *http.Response) error {
	t := roundTripOf(res.Request.Context())
	t.headed = true
	t.countHeader()
	// The upstream sets this field for the gateway only, so clients never see it.
	declared := interlockhttp.ParseOutcome(res.Header[outcomeField])
	res.Header.Del(outcomeField)
	if res.StatusCode == http.StatusSwitchingProtocols {
		return nil // the body is a connection
	}
	res.Body = &upstreamBody{res.Body, t}
	if len(t.exchange.rules) == 0 {
		return nil // there is no outcome to record
	}
	t.result.answered, t.result.outcome = true, declared
	if t.exchange.keeps() && !isStream(res) {
		return buffer(res, t.exchange.snapshot.settings.limits.Response)
	}
	return nil
}

// outcomeField is the response field by which an upstream says what it did: done, failed,
// not-executed or unknown.
const outcomeField = "Interlock-Outcome"

// isStream reports whether a response has to be passed on as it comes.
func isStream(res *http.Response) bool {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return media == "text/event-stream"
}

// buffer reads a response into memory, unless it is longer than limit: the rule does not
// keep such a response.
func buffer(res *http.Response, limit int) error {
	if res.ContentLength > int64(limit) {
		return nil
	}
	body := res.Body
	text, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
	if err != nil {
		return err
	}
	if len(text) > limit {
		// Too long to keep: the client still gets all of it, first the part that was
		// read.
		res.Body = readCloser{io.MultiReader(bytes.NewReader(text), body), body}
		return nil
	}
	// With an unknown length, or a trailer, ReverseProxy flushes, and the middleware
	// could not keep the response.
	res.ContentLength, res.Trailer = int64(len(text)), nil
	res.Body = readCloser{bytes.NewReader(text), body}
	return nil
}

// A readCloser reads from one source and closes another: the connection's body.
type readCloser struct {
	io.Reader
	io.Closer
}

// An upstreamBody is the body of a response. If it breaks off, the outcome of the request
// is unknown.
type upstreamBody struct {
	io.ReadCloser
	trip *roundTrip
}

// Read implements io.Reader.
func (b *upstreamBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	b.trip.broken = true
	if len(b.trip.exchange.rules) > 0 {
		res := &b.trip.result
		res.outcome, res.code, res.cause = interlockhttp.Unknown, interlockhttp.UpstreamUnknown, err
	}
	return n, err
}
