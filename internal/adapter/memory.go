package adapter

import (
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

// Streamed tells the middleware that a response with that status is sent by the framework after
// its handler has returned, so that it cannot be kept.
func Streamed(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	_ = http.NewResponseController(w).Flush() // a Memory has nothing to flush
}
