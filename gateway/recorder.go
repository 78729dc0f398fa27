package gateway

import (
	"io"
	"net/http"
	"sync/atomic"
)

// A recorder remembers the status of a response.
type recorder struct {
	http.ResponseWriter
	status int // 0 until the header is written
}

// WriteHeader implements [http.ResponseWriter].
func (c *recorder) WriteHeader(status int) {
	// 1xx responses precede the final one, except 101, which ends the exchange.
	if c.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (c *recorder) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	return c.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (c *recorder) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// A clientBody is the body of a request that is sent on while it is read. It remembers a
// read error: then the client broke off, and the upstream is not to blame. The transport
// reads it in a goroutine of its own.
type clientBody struct {
	io.ReadCloser
	broken atomic.Pointer[error]
}

// Read implements io.Reader.
func (b *clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.broken.Store(&err)
	}
	return n, err
}

// err returns the read error, or nil.
func (b *clientBody) err() error {
	if b == nil || b.broken.Load() == nil {
		return nil
	}
	return *b.broken.Load()
}
