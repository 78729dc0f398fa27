package interlockgin

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"
)

// unwritten is the size of a response that has not begun, as in gin.
const unwritten = -1

// A writer is the [gin.ResponseWriter] of handlers behind the middleware. It writes to the
// middleware, and behaves as gin's own: the status is sent with the first byte, or at the end.
type writer struct {
	gin.ResponseWriter // the outer writer
	inner              http.ResponseWriter
	status             int
	size               int
}

// Header implements [http.ResponseWriter].
func (w *writer) Header() http.Header { return w.inner.Header() }

// WriteHeader implements [http.ResponseWriter].
func (w *writer) WriteHeader(status int) {
	if status > 0 && !w.Written() {
		w.status = status
	}
}

// WriteHeaderNow implements [gin.ResponseWriter].
func (w *writer) WriteHeaderNow() {
	if !w.Written() {
		w.size = 0
		w.inner.WriteHeader(w.status)
	}
}

// Write implements [http.ResponseWriter].
func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeaderNow()
	n, err := w.inner.Write(p)
	w.size += n
	return n, err
}

// WriteString implements [io.StringWriter].
func (w *writer) WriteString(s string) (int, error) {
	w.WriteHeaderNow()
	n, err := io.WriteString(w.inner, s)
	w.size += n
	return n, err
}

// Status implements [gin.ResponseWriter].
func (w *writer) Status() int { return w.status }

// Size implements [gin.ResponseWriter].
func (w *writer) Size() int { return w.size }

// Written implements [gin.ResponseWriter].
func (w *writer) Written() bool { return w.size != unwritten }

// Flush implements [http.Flusher].
func (w *writer) Flush() {
	w.WriteHeaderNow()
	_ = http.NewResponseController(w.inner).Flush() // as gin does, without an error
}

// Hijack implements [http.Hijacker].
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if !w.Written() {
		w.size = 0
	}
	return http.NewResponseController(w.inner).Hijack()
}

// Unwrap returns the middleware's writer, for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.inner }
