package interlockhttp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

var errTooLarge = errors.New("the body is larger than MaxBody")

// A bodyError reports that the body could not be read.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return e.err.Error() }
func (e *bodyError) Unwrap() error { return e.err }

// A buffer is the body of a request, read before its handler runs, so that the handler
// does not depend on the client's connection.
type buffer struct {
	bytes.Reader
	data []byte
	done bool
}

// Close implements io.Closer. The server closes the real body.
func (*buffer) Close() error { return nil }

// bufferBody reads the whole body, once.
func (q *request) bufferBody() ([]byte, error) {
	b := &q.body
	if b.done {
		return b.data, nil
	}
	data, err := q.readBody()
	if err != nil {
		q.partialBody = data // in shadow mode the handler still gets this part
		return nil, &bodyError{err}
	}
	b.data, b.done = data, true
	return data, nil
}

// readBody reads the body. It allocates for the bytes received, not for the length that
// the client announces.
func (q *request) readBody() (data []byte, err error) {
	limit := q.settings.maxBody
	switch {
	case q.Body == nil || q.Body == http.NoBody:
		return nil, nil
	case q.ContentLength > limit:
		return nil, errTooLarge
	}
	if d := q.settings.bodyTimeout; d > 0 && q.settings.shadow == nil { // shadow mode sets no deadline, because an expired one ends the request's context
		c := http.NewResponseController(q.w)
		if c.SetReadDeadline(time.Now().Add(d)) == nil {
			defer func() {
				if err == nil { // after an error the deadline stays, so that the server does not wait for the rest
					_ = c.SetReadDeadline(time.Time{})
				}
			}()
		}
	}
	const first = 32 << 10
	size := min(max(q.ContentLength, 0)+1, first) // one byte more, so that the last Read returns io.EOF without growing
	if q.ContentLength < 0 {
		size = 512
	}
	data = make([]byte, 0, size)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := q.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > limit:
			return data, errTooLarge
		case err == io.EOF: // not errors.Is: a wrapped EOF means that the body broke off
			return data, nil
		case err != nil:
			return data, err
		}
	}
}

// rewind makes the body readable from its beginning.
func (q *request) rewind() error {
	data, err := q.bufferBody()
	if err != nil {
		return err
	}
	q.body.Reset(data)
	if q.Body != nil {
		q.Body = &q.body
	}
	return nil
}

// restoreBody puts back the part of the body that was read.
func (q *request) restoreBody() {
	switch {
	case q.body.done:
		_ = q.rewind()
	case len(q.partialBody) > 0:
		q.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(q.partialBody), q.Body), q.Body}
	}
}

// isTimeout reports whether the body was not read in time.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
