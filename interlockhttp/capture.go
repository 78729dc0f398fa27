package interlockhttp

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A capture is the ResponseWriter of a guarded handler. It behaves as net/http promises,
// and keeps a copy of the response.
//
// By default nothing is sent before the handler returns and the response is stored. In
// pass-through mode everything is sent at once. A response that cannot be kept, because
// it is too large, flushed or hijacked, switches to pass-through.
//
// A goroutine of the handler may write after the handler returned. That changes neither
// the stored response nor the sent one.
type capture struct {
	http.ResponseWriter
	mu           sync.Mutex
	returned     atomic.Bool // the handler has returned
	method       string
	maxBody      int            // the largest body that is kept, in bytes
	passThrough  bool           // writes are sent at once
	keeping      bool           // writes are kept
	marker       marker         // sets our own header fields; may be nil
	headerBefore http.Header    // the header before the handler ran
	status       int            // zero until the handler sets it
	declared     Outcome        // the outcome in the header when the status was set
	header       headerSnapshot // the header when the status was set
	length       int64          // the Content-Length that the handler set; -1 without one
	written      int64          // bytes of the body, including refused ones
	body         []byte         // the kept part
	omitted      string         // why the body is not kept
	hijacked     bool           // the handler took the connection over
	writeErr     error          // the first error while sending
	lateTrailer  http.Header    // the trailer as it was when the handler returned
	lengthValue  [1]string      // the value of Content-Length, without an allocation
}

// A marker sets our own header fields before a response is sent.
type marker interface{ mark(h http.Header) }

func (c *capture) mark(h http.Header) {
	if c.marker != nil {
		c.marker.mark(h)
	}
}

// begin prepares the capture for a handler.
func (c *capture) begin(w http.ResponseWriter, method string, m marker) {
	c.ResponseWriter, c.method, c.length, c.marker = w, method, -1, m
	if h := w.Header(); len(h) > 0 {
		c.headerBefore = h.Clone()
	}
}

var errReturned = errors.New("interlockhttp: the handler has returned")

// Header implements [http.ResponseWriter].
func (c *capture) Header() http.Header {
	h := c.ResponseWriter.Header()
	if c.returned.Load() {
		return make(http.Header) // h is being sent
	}
	return h
}

// WriteHeader implements [http.ResponseWriter].
func (c *capture) WriteHeader(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.returned.Load() {
		c.writeHeader(status)
	}
}

// writeHeader is WriteHeader with the mutex held. It snapshots the header, because a
// handler may change it afterwards without effect.
func (c *capture) writeHeader(status int) {
	switch {
	case c.hijacked || c.status != 0:
		if c.passThrough || c.hijacked {
			c.ResponseWriter.WriteHeader(status) // logs the superfluous call
		}
		return
	case status < 100 || status > 999:
		c.ResponseWriter.WriteHeader(status) // panics, as it should
		return
	case status < 200 && status != http.StatusSwitchingProtocols:
		c.ResponseWriter.WriteHeader(status) // informational, not the response yet
		return
	}
	c.status = status
	h := c.ResponseWriter.Header()
	if values, ok := h[fieldOutcome]; ok {
		c.declared = ParseOutcome(values)
		delete(h, fieldOutcome)
	}
	c.header.take(h)
	if values := h["Content-Length"]; len(values) > 0 {
		n, err := strconv.ParseInt(values[0], 10, 64)
		if err == nil && n >= 0 {
			c.length = n
		}
	}
	if status == http.StatusSwitchingProtocols {
		c.stopKeeping(upgraded)
	}
	switch {
	case c.passThrough:
		c.mark(h)
		c.ResponseWriter.WriteHeader(status)
	case status == http.StatusSwitchingProtocols:
		c.startPassThrough(upgraded)
	}
}

// Write implements io.Writer.
func (c *capture) Write(p []byte) (int, error) { return captureWrite(c, p, c.ResponseWriter.Write) }

// WriteString implements io.StringWriter.
func (c *capture) WriteString(s string) (int, error) {
	return captureWrite(c, s, func(s string) (int, error) { return io.WriteString(c.ResponseWriter, s) })
}

// captureWrite implements Write and WriteString. A type parameter saves the copy of a
// string.
func captureWrite[T ~string | ~[]byte](c *capture, p T, write func(T) (int, error)) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.returned.Load():
		return 0, errReturned
	case c.hijacked:
		return write(p) // returns http.ErrHijacked
	case c.status == 0:
		c.writeHeader(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if err := c.checkWrite(int64(len(p))); err != nil {
		if c.passThrough {
			return write(p) // net/http refuses it as well, and closes the connection if needed
		}
		return 0, err
	}
	if c.keeping && len(c.body)+len(p) > c.maxBody {
		c.startPassThrough(tooLong)
	}
	if c.keeping && c.method != http.MethodHead {
		c.body = append(c.body, p...)
	}
	if !c.passThrough {
		return len(p), nil
	}
	n, err := write(p)
	c.noteWriteError(err)
	return n, err
}

// checkWrite returns why n more bytes may not be written. As in net/http, refused bytes
// count as written.
func (c *capture) checkWrite(n int64) error {
	if !hasBody(c.status) {
		return http.ErrBodyNotAllowed
	}
	if c.written += n; c.length >= 0 && c.written > c.length {
		return http.ErrContentLength
	}
	return nil
}

// noteWriteError keeps the first error. A handler may stop writing at an error, so the kept
// copy of the response may be incomplete.
func (c *capture) noteWriteError(err error) {
	if c.writeErr == nil {
		c.writeErr = err
	}
}

// stopKeeping gives up keeping the response.
func (c *capture) stopKeeping(why string) {
	if c.keeping {
		c.keeping, c.omitted = false, why
	}
}

// startPassThrough sends the buffered part of the response. Later writes are sent at once.
func (c *capture) startPassThrough(why string) {
	c.stopKeeping(why)
	if !c.passThrough {
		c.passThrough = true
		c.flushBuffered(false)
	}
	c.body = nil
}

// ReadFrom implements io.ReaderFrom, so that io.Copy may use sendfile if nothing has to be
// kept. As in net/http, the first bytes go through Write, which detects their type; an
// empty source sets no status.
func (c *capture) ReadFrom(src io.Reader) (int64, error) {
	const first = 512 // bytes that http.DetectContentType reads
	n, err := io.Copy(struct{ io.Writer }{c}, io.LimitReader(src, first))
	if err != nil || n < first {
		return n, err
	}
	rest := io.Copy
	if direct, ok := c.ResponseWriter.(io.ReaderFrom); ok && c.canCopyDirectly() {
		rest = func(_ io.Writer, src io.Reader) (int64, error) { return direct.ReadFrom(src) }
	}
	m, err := rest(struct{ io.Writer }{c}, src)
	return n + m, err
}

// canCopyDirectly reports whether writes may bypass the capture.
func (c *capture) canCopyDirectly() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passThrough && !c.keeping && c.length < 0 && !c.hijacked && !c.returned.Load()
}

// end completes the response after the handler returned.
func (c *capture) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == 0 && !c.hijacked {
		c.writeHeader(http.StatusOK)
	}
	c.returned.Store(true)
	if len(c.body) > 0 {
		c.sniffType()
	}
	if c.length > int64(len(c.body)) && hasBody(c.status) && c.method != http.MethodHead {
		c.stopKeeping(brokenOff) // the client sees a truncated body
	}
}

// sniffType records the Content-Type that net/http detects in the body when it sends a
// response without one. If net/http sets none, a replay has none either.
func (c *capture) sniffType() {
	if !c.keeping || !hasBody(c.status) || c.header.has("Content-Type") {
		return
	}
	var kind []string
	if len(c.body) > 0 && c.header.first("Content-Encoding") == "" && c.header.first("Transfer-Encoding") == "" {
		kind = []string{http.DetectContentType(c.body)}
	}
	c.header.add("Content-Type", kind)
}

// response sets r to the part of the response that is stored.
func (c *capture) response(r *Response, s *settings) {
	if c.writeErr != nil && c.omitted == "" {
		c.omitted = brokenOff // the handler may have stopped at the write error
	}
	*r = Response{Status: c.status, Body: c.body, Omitted: c.omitted, kept: &c.header, settings: s, before: c.headerBefore}
	if r.Status == 0 {
		r.Status = http.StatusSwitchingProtocols // a hijacked connection
	}
	c.lateTrailer = c.trailer()
	for name, values := range c.lateTrailer {
		name = http.CanonicalHeaderKey(strings.TrimPrefix(name, http.TrailerPrefix))
		if !s.keepsField(name) {
			continue // a trailer follows the same rules as a header
		}
		if r.Trailer == nil {
			r.Trailer = make(http.Header)
		}
		r.Trailer[name] = append(r.Trailer[name], values...)
	}
}

// hasBody reports whether a response with that status may have a body.
func hasBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}
