package gateway

import (
	"bytes"
	"io"
	"mime"
	"net/http"

	"github.com/interlock-go/interlock/interlockhttp"
)

// receive looks at an answer before it goes on. One that is to be kept is read whole
// first, so that the client is told if it breaks off, and nothing is kept then.
func (b *backend) receive(res *http.Response) error {
	v := visitOf(res.Request.Context())
	if len(v.chain) == 0 || res.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	v.answered = true
	res.Body = &upstreamBody{res.Body, v}
	if v.keeps() && !streams(res) {
		return gather(res, v.plan.settings.limits.Response)
	}
	return nil
}

// streams tells whether an answer is meant to be read as it comes.
func streams(res *http.Response) bool {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return media == "text/event-stream"
}

// gather reads an answer, up to a bound beyond which it is not kept anyway.
func gather(res *http.Response, most int) error {
	if res.ContentLength > int64(most) {
		return nil
	}
	body := res.Body
	text, err := io.ReadAll(io.LimitReader(body, int64(most)+1))
	if err != nil {
		return err
	}
	if len(text) > most {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(text), body), body}
		return nil
	}
	res.ContentLength = int64(len(text)) // no need to flush,
	res.Trailer = nil                    // as there were if a trailer followed, and then nothing could be kept
	res.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(text), body}
	return nil
}

// An upstreamBody is an answer as it comes. Should it break off, nobody knows what
// became of the request.
type upstreamBody struct {
	io.ReadCloser
	visit *visit
}

// Read implements io.Reader.
func (b *upstreamBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.visit.fate, b.visit.code, b.visit.cause = interlockhttp.InDoubt, interlockhttp.UpstreamUnknown, err
	}
	return n, err
}
