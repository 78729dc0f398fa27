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
	mu      sync.Mutex
	over    atomic.Bool // the handler has returned
	method  string
	most    int         // bytes of the body that may be kept
	passes  bool        // what is written goes out
	keeps   bool        // and is kept
	marker  marker      // says in the header what is to be known; nil if nothing
	before  http.Header // what was in the header before the handler
	status  int         // zero until it is known
	header  snapshot    // as it was then
	length  int64       // that the handler has announced; -1 if it has not
	wrote   int64       // bytes of the body, with those that were refused
	body    []byte      // as far as it is kept
	why     string      // why it is not
	stolen  bool        // the connection was taken over
	broken  error       // what went wrong when it went out
	late    http.Header // the trailer, once the handler has returned
	measure [1]string   // the length, once it is known
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
		c.before = h.Clone()
	}
}

var errOver = errors.New("interlockhttp: the handler has returned")

// Header implements [http.ResponseWriter].
func (c *capture) Header() http.Header {
	h := c.ResponseWriter.Header()
	if c.over.Load() {
		return make(http.Header) // h goes out now
	}
	return h
}

// WriteHeader implements [http.ResponseWriter].
func (c *capture) WriteHeader(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over.Load() {
		c.writeHeader(status)
	}
}

func (c *capture) writeHeader(status int) {
	switch {
	case c.stolen || c.status != 0:
		if c.passes || c.stolen {
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
		c.drop(upgraded)
	}
	switch {
	case c.passes:
		c.mark(h)
		c.ResponseWriter.WriteHeader(status)
	case status == http.StatusSwitchingProtocols:
		c.pass(upgraded)
	}
}

// Write implements io.Writer.
func (c *capture) Write(p []byte) (int, error) { return capturing(c, p, c.ResponseWriter.Write) }

// WriteString implements io.StringWriter.
func (c *capture) WriteString(s string) (int, error) {
	return capturing(c, s, func(s string) (int, error) { return io.WriteString(c.ResponseWriter, s) })
}

func capturing[T ~string | ~[]byte](c *capture, p T, write func(T) (int, error)) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over.Load():
		return 0, errOver
	case c.stolen:
		return write(p) // which says that it is
	case c.status == 0:
		c.writeHeader(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if err := c.refuses(int64(len(p))); err != nil {
		if c.passes {
			return write(p) // which refuses it, too, and closes the connection if it must
		}
		return 0, err
	}
	if c.keeps && len(c.body)+len(p) > c.most {
		c.pass(tooLong)
	}
	if c.keeps && c.method != http.MethodHead {
		c.body = append(c.body, p...)
	}
	if !c.passes {
		return len(p), nil
	}
	n, err := write(p)
	c.noteBroken(err)
	return n, err
}

// refuses tells why n more bytes may not be written, as net/http has it: what was
// refused counts.
func (c *capture) refuses(n int64) error {
	if !hasBody(c.status) {
		return http.ErrBodyNotAllowed
	}
	if c.wrote += n; c.length >= 0 && c.wrote > c.length {
		return http.ErrContentLength
	}
	return nil
}

func (c *capture) noteBroken(err error) {
	if c.broken == nil {
		c.broken = err
	}
}

// drop keeps the answer no more.
func (c *capture) drop(why string) {
	if c.keeps {
		c.keeps, c.why = false, why
	}
}

// pass lets everything out from now on, and keeps it no more.
func (c *capture) pass(why string) {
	c.drop(why)
	if !c.passes {
		c.passes = true
		c.release(false)
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
	if to, ok := c.ResponseWriter.(io.ReaderFrom); ok && c.shortcut() {
		rest = func(_ io.Writer, src io.Reader) (int64, error) { return to.ReadFrom(src) }
	}
	m, err := rest(struct{ io.Writer }{c}, src)
	return n + m, err
}

// shortcut tells whether nobody needs to see what is written.
func (c *capture) shortcut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passes && !c.keeps && c.length < 0 && !c.stolen && !c.over.Load()
}

// end notes what the handler has not said: it has returned.
func (c *capture) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == 0 && !c.stolen {
		c.writeHeader(http.StatusOK)
	}
	c.over.Store(true)
	if len(c.body) > 0 {
		c.sniff()
	}
	if c.length > int64(len(c.body)) && hasBody(c.status) && c.method != http.MethodHead {
		c.drop(brokenOff) // the client sees that something is missing
	}
}

// sniff notes which type net/http gives to an answer that has none, from what there
// is of it when it goes out. If it gives none, a replay is not to have one either.
func (c *capture) sniff() {
	if !c.keeps || !hasBody(c.status) || c.header.has("Content-Type") {
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
	if c.broken != nil && c.why == "" {
		c.why = brokenOff // the handler may have stopped when it saw that
	}
	*r = Response{Status: c.status, Body: c.body, Omitted: c.why, kept: &c.header, by: s, before: c.before}
	if r.Status == 0 {
		r.Status = http.StatusSwitchingProtocols // said on a connection that was taken over
	}
	c.late = c.trailer()
	for name, values := range c.late {
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
