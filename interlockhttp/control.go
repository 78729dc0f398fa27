package interlockhttp

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"time"
)

// The methods that a handler reaches through [http.ResponseController] or a type
// assertion. There is no Unwrap: writes that bypass the capture would not be kept, and
// an upgraded connection would look like an empty response.

// Flush implements [http.Flusher].
func (c *capture) Flush() { _ = c.FlushError() }

// FlushError sends what was written. Without Tee, a flushed response is not kept, because
// it cannot be stored before it is sent.
func (c *capture) FlushError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.returned.Load():
		return errReturned
	case c.hijacked:
		return http.ErrHijacked
	case c.status == 0:
		c.writeHeader(http.StatusOK)
	}
	if !c.passThrough {
		c.startPassThrough(streamed)
	}
	c.sniffType()
	err := c.control().Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		c.noteWriteError(err)
	}
	return err
}

// Hijack implements [http.Hijacker]. A response on a hijacked connection cannot be kept.
func (c *capture) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.returned.Load() {
		return nil, nil, errReturned
	}
	if c.status != 0 {
		c.startPassThrough(upgraded) // the status could not be sent afterwards
	}
	conn, rw, err := c.control().Hijack()
	if err == nil {
		c.stopKeeping(upgraded)
		c.hijacked, c.body = true, nil
	}
	return conn, rw, err
}

// SetReadDeadline is for [http.ResponseController].
func (c *capture) SetReadDeadline(t time.Time) error { return c.control().SetReadDeadline(t) }

// SetWriteDeadline is for [http.ResponseController].
func (c *capture) SetWriteDeadline(t time.Time) error { return c.control().SetWriteDeadline(t) }

// EnableFullDuplex is for [http.ResponseController].
func (c *capture) EnableFullDuplex() error { return c.control().EnableFullDuplex() }

// Push implements [http.Pusher].
func (c *capture) Push(target string, opts *http.PushOptions) error {
	if p, ok := c.ResponseWriter.(http.Pusher); ok {
		return p.Push(target, opts)
	}
	return http.ErrNotSupported
}

func (c *capture) control() *http.ResponseController {
	return http.NewResponseController(c.ResponseWriter)
}
