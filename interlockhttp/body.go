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

// A bodyError says that the body could not be had.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return e.err.Error() }
func (e *bodyError) Unwrap() error { return e.err }

// A buffer is the body of a request that was read before its handler runs, so
// that this does not depend on the client any more.
type buffer struct {
	bytes.Reader
	data []byte
	done bool
}

// Close implements io.Closer. There is nothing to close: the server does that.
func (*buffer) Close() error { return nil }

// bufferBody returns the whole body.
func (q *request) bufferBody() ([]byte, error) {
	b := &q.body
	if b.done {
		return b.data, nil
	}
	data, err := q.readBody()
	if err != nil {
		q.partialBody = data // in shadow mode the handler gets it all the same
		return nil, &bodyError{err}
	}
	b.data, b.done = data, true
	return data, nil
}

// readBody reads the body. It makes room for what has come, and not for what the
// client says will.
func (q *request) readBody() (data []byte, err error) {
	most := q.settings.maxBody
	switch {
	case q.Body == nil || q.Body == http.NoBody:
		return nil, nil
	case q.ContentLength > most:
		return nil, errTooLarge
	}
	if d := q.settings.bodyTimeout; d > 0 && q.settings.shadow == nil { // when it is over, net/http ends the request's context
		c := http.NewResponseController(q.w)
		if c.SetReadDeadline(time.Now().Add(d)) == nil {
			defer func() {
				if err == nil { // otherwise the server would wait for the rest before it answers
					_ = c.SetReadDeadline(time.Time{})
				}
			}()
		}
	}
	const first = 32 << 10
	room := min(max(q.ContentLength, 0)+1, first) // one more, to see the end
	if q.ContentLength < 0 {
		room = 512
	}
	data = make([]byte, 0, room)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := q.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > most:
			return data, errTooLarge
		case err == io.EOF: // one that is wrapped says that something broke off
			return data, nil
		case err != nil:
			return data, err
		}
	}
}

// rewind lets the body be read from its beginning.
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

// restoreBody gives a body back of which a part was read.
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

// isTimeout tells whether a body did not come in time.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
