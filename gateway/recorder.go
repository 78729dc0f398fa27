package gateway

import (
	"io"
	"net/http"
	"sync/atomic"
)

// A recorder notes the status of an answer.
type recorder struct {
	http.ResponseWriter
	request *http.Request
	status  int // zero until it is known
}

// WriteHeader implements [http.ResponseWriter].
func (c *recorder) WriteHeader(status int) {
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

// A clientBody is the body of a request that nobody has read before it is sent on. It
// notes that it broke off, since that is not the fault of who it is sent to.
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

// err returns why it broke off, or nil.
func (b *clientBody) err() error {
	if b == nil || b.broken.Load() == nil {
		return nil
	}
	return *b.broken.Load()
}
