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

// buffered returns the whole body.
func (r *request) buffered() ([]byte, error) {
	b := &r.body
	if b.done {
		return b.data, nil
	}
	data, err := r.readBody()
	if err != nil {
		r.rest = data // in shadow mode the handler gets it all the same
		return nil, &bodyError{err}
	}
	b.data, b.done = data, true
	return data, nil
}

// readBody reads the body. It makes room for what has come, and not for what the
// client says will.
func (r *request) readBody() ([]byte, error) {
	most := r.settings.maxBody
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		return nil, nil
	case r.ContentLength > most:
		return nil, errTooLarge
	}
	if d := r.settings.bodyWithin; d > 0 {
		c := http.NewResponseController(r.w)
		if c.SetReadDeadline(time.Now().Add(d)) == nil {
			defer c.SetReadDeadline(time.Time{}) //nolint:errcheck // it could be set before
		}
	}
	const first = 32 << 10
	room := min(max(r.ContentLength, 0)+1, first) // one more, to see the end
	if r.ContentLength < 0 {
		room = 512
	}
	data := make([]byte, 0, room)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := r.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > most:
			return data, errTooLarge
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return data, err
		}
	}
}

// rewind lets the body be read from its beginning.
func (r *request) rewind() error {
	data, err := r.buffered()
	if err != nil {
		return err
	}
	r.body.Reset(data)
	if r.Body != nil {
		r.Body = &r.body
	}
	return nil
}

// unread gives a body back of which a part was read.
func (r *request) unread() {
	switch {
	case r.body.done:
		_ = r.rewind()
	case len(r.rest) > 0:
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(r.rest), r.Body), r.Body}
	}
}

// isLate tells whether a body did not come in time.
func isLate(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
