package adapter

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// A Memory is the [http.ResponseWriter] for frameworks that send a response after their
// handlers have returned. It keeps the response until then.
type Memory struct {
	Status int // zero until the response begins
	Body   []byte
	header http.Header
}

// NewMemory returns a Memory whose header has the fields that the framework has already set.
func NewMemory(h http.Header) *Memory { return &Memory{header: h} }

// Header implements [http.ResponseWriter].
func (m *Memory) Header() http.Header { return m.header }

// WriteHeader implements [http.ResponseWriter]. Informational responses are left out.
func (m *Memory) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic("interlock: invalid status " + strconv.Itoa(status))
	}
	if m.Status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		m.Status = status
	}
}

// Write implements [http.ResponseWriter].
func (m *Memory) Write(p []byte) (int, error) {
	m.WriteHeader(http.StatusOK)
	m.Body = append(m.Body, p...)
	return len(p), nil
}

// End completes a response to which the middleware wrote nothing, as net/http does.
func (m *Memory) End() { m.WriteHeader(http.StatusOK) }

// ReadStream reads a body of a response that has that length. If it cannot, it returns a reader
// that the framework can send instead, and that fails in the same way.
func ReadStream(body io.Reader, length int) (text []byte, broken io.Reader) {
	text, err := io.ReadAll(io.LimitReader(body, int64(length)))
	if err == nil && len(text) < length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, io.MultiReader(bytes.NewReader(text), failing{err})
	}
	return text, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Streamed tells the middleware that a response with that status is sent by the framework after
// its handler has returned, so that it cannot be kept.
func Streamed(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	_ = http.NewResponseController(w).Flush() // a Memory has nothing to flush
}
