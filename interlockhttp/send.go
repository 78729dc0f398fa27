package interlockhttp

import (
	"maps"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// send sends a response that was buffered until the handler returned.
func (c *capture) send() {
	if !c.passThrough && !c.hijacked {
		c.flushBuffered(true)
	}
}

// flushBuffered sends the buffered part of the response. If the response is complete, it
// sets the Content-Length.
func (c *capture) flushBuffered(complete bool) {
	trailer := c.lateTrailer
	if !complete {
		trailer = c.trailer()
	}
	c.restore()
	h := c.ResponseWriter.Header()
	c.mark(h)
	if complete && len(trailer) == 0 && c.length < 0 && hasBody(c.status) && h["Transfer-Encoding"] == nil && c.method != http.MethodHead {
		c.lengthValue[0] = strconv.Itoa(len(c.body))
		h["Content-Length"] = c.lengthValue[:]
	}
	c.ResponseWriter.WriteHeader(c.status)
	if len(c.body) > 0 {
		_, err := c.ResponseWriter.Write(c.body)
		c.noteWriteError(err)
	}
	maps.Copy(h, trailer)
}

// restore resets the header to its state at WriteHeader. Later changes do not count,
// except for trailers.
func (c *capture) restore() {
	h := c.ResponseWriter.Header()
	for _, f := range c.header.fields {
		h[f.name] = f.values
	}
	if len(h) == len(c.header.fields) {
		return // nothing was added
	}
	for name := range h {
		if !strings.HasPrefix(name, http.TrailerPrefix) && !c.header.has(name) {
			delete(h, name)
		}
	}
}

// trailer returns the fields that follow the body, announced or not.
func (c *capture) trailer() http.Header {
	var trailer http.Header
	h := c.ResponseWriter.Header()
	add := func(name string, values []string) {
		if trailer == nil {
			trailer = make(http.Header)
		}
		trailer[name] = values
	}
	for _, list := range c.header.values("Trailer") {
		for name := range strings.SplitSeq(list, ",") {
			name = http.CanonicalHeaderKey(textproto.TrimString(name))
			if values := h[name]; len(values) > 0 {
				add(name, values)
			}
		}
	}
	for name, values := range h {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			add(name, values)
		}
	}
	return trailer
}
