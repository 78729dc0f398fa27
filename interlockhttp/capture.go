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

// A capture is the ResponseWriter that a handler gets. It keeps all that net/http
// promises its handlers; and it keeps what they say.
//
// Strictly, nothing goes out before the handler is done and what it said is stored.
// Otherwise all goes out as it comes. What cannot be kept, since it is too large,
// or flushed, or the connection is taken over, goes out as it comes from then on.
//
// A handler may leave somebody behind who writes on. What was kept is not changed by
// that, nor what goes out.
type capture struct {
	http.ResponseWriter
	mu           sync.Mutex
	returned     atomic.Bool // the handler has returned
	method       string
	maxBody      int            // bytes of the body that may be kept
	passThrough  bool           // what is written goes out
	keeping      bool           // and is kept
	marker       marker         // says in the header what is to be known; nil if nothing
	headerBefore http.Header    // what was in the header before the handler
	status       int            // zero until it is known
	header       headerSnapshot // as it was then
	length       int64          // that the handler has announced; -1 if it has not
	written      int64          // bytes of the body, with those that were refused
	body         []byte         // as far as it is kept
	omitted      string         // why it is not
	hijacked     bool           // the connection was taken over
	writeErr     error          // what went wrong when it went out
	lateTrailer  http.Header    // the trailer, once the handler has returned
	lengthValue  [1]string      // the length, once it is known
}

// A marker says in the header of an answer, before it goes out, what is to be known
// about it.
type marker interface{ mark(h http.Header) }

func (c *capture) mark(h http.Header) {
	if c.marker != nil {
		c.marker.mark(h)
	}
}

// begin notes what there was before the handler.
func (c *capture) begin(w http.ResponseWriter, method string, by marker) {
	c.ResponseWriter, c.method, c.length, c.marker = w, method, -1, by
	if h := w.Header(); len(h) > 0 {
		c.headerBefore = h.Clone()
	}
}

var errReturned = errors.New("interlockhttp: the handler has returned")

// Header implements [http.ResponseWriter].
func (c *capture) Header() http.Header {
	h := c.ResponseWriter.Header()
	if c.returned.Load() {
		return make(http.Header) // h goes out now
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

func (c *capture) writeHeader(status int) {
	switch {
	case c.hijacked || c.status != 0:
		if c.passThrough || c.hijacked {
			c.ResponseWriter.WriteHeader(status) // which has something to say about that
		}
		return
	case status < 100 || status > 999:
		c.ResponseWriter.WriteHeader(status) // which panics, as it should
		return
	case status < 200 && status != http.StatusSwitchingProtocols:
		c.ResponseWriter.WriteHeader(status) // it is not the answer yet
		return
	}
	c.status = status
	h := c.ResponseWriter.Header()
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

func captureWrite[T ~string | ~[]byte](c *capture, p T, write func(T) (int, error)) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.returned.Load():
		return 0, errReturned
	case c.hijacked:
		return write(p) // which says that it is
	case c.status == 0:
		c.writeHeader(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if err := c.checkWrite(int64(len(p))); err != nil {
		if c.passThrough {
			return write(p) // which refuses it, too, and closes the connection if it must
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

// checkWrite tells why n more bytes may not be written, as net/http has it: what was
// refused counts.
func (c *capture) checkWrite(n int64) error {
	if !hasBody(c.status) {
		return http.ErrBodyNotAllowed
	}
	if c.written += n; c.length >= 0 && c.written > c.length {
		return http.ErrContentLength
	}
	return nil
}

func (c *capture) noteWriteError(err error) {
	if c.writeErr == nil {
		c.writeErr = err
	}
}

// stopKeeping keeps the answer no more.
func (c *capture) stopKeeping(why string) {
	if c.keeping {
		c.keeping, c.omitted = false, why
	}
}

// startPassThrough lets everything out from now on, and keeps it no more.
func (c *capture) startPassThrough(why string) {
	c.stopKeeping(why)
	if !c.passThrough {
		c.passThrough = true
		c.flushBuffered(false)
	}
	c.body = nil
}

// ReadFrom implements io.ReaderFrom, for io.Copy: what goes out anyway may take the
// short way. As in net/http that is not for what comes first: its type is looked for,
// and if there is nothing, nothing was said.
func (c *capture) ReadFrom(src io.Reader) (int64, error) {
	const first = 512 // bytes that tell the type
	n, err := io.Copy(struct{ io.Writer }{c}, io.LimitReader(src, first))
	if err != nil || n < first {
		return n, err
	}
	rest := io.Copy
	if to, ok := c.ResponseWriter.(io.ReaderFrom); ok && c.canCopyDirectly() {
		rest = func(_ io.Writer, src io.Reader) (int64, error) { return to.ReadFrom(src) }
	}
	m, err := rest(struct{ io.Writer }{c}, src)
	return n + m, err
}

// canCopyDirectly tells whether nobody needs to see what is written.
func (c *capture) canCopyDirectly() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passThrough && !c.keeping && c.length < 0 && !c.hijacked && !c.returned.Load()
}

// end notes what the handler has not said: it has returned.
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
		c.stopKeeping(brokenOff) // the client sees that something is missing
	}
}

// sniffType notes which type net/http gives to an answer that has none, from what there
// is of it when it goes out. If it gives none, a replay is not to have one either.
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

// response makes r what is kept of the answer.
func (c *capture) response(r *Response, s *settings) {
	if c.writeErr != nil && c.omitted == "" {
		c.omitted = brokenOff // the handler may have stopped when it saw that
	}
	*r = Response{Status: c.status, Body: c.body, Omitted: c.omitted, kept: &c.header, by: s, before: c.headerBefore}
	if r.Status == 0 {
		r.Status = http.StatusSwitchingProtocols // said on a connection that was taken over
	}
	c.lateTrailer = c.trailer()
	for name, values := range c.lateTrailer {
		name = http.CanonicalHeaderKey(strings.TrimPrefix(name, http.TrailerPrefix))
		if !s.keepsField(name) {
			continue // it is not for others because it comes late
		}
		if r.Trailer == nil {
			r.Trailer = make(http.Header)
		}
		r.Trailer[name] = append(r.Trailer[name], values...)
	}
}

// hasBody tells whether an answer with that status has a body.
func hasBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}
