package gateway

import (
	"io"
	"net/http"
)

// keyFields are those in which net/http looks for a key: it sends a request again by
// itself that has one. In lower case it does not find them.
var keyFields = map[string]string{"Idempotency-Key": "idempotency-key", "X-Idempotency-Key": "x-idempotency-key"}

// sendOnce keeps net/http from sending a request again by itself.
func sendOnce(r *http.Request) {
	for name, hidden := range keyFields {
		if values, ok := r.Header[name]; ok {
			delete(r.Header, name)
			r.Header[hidden] = values
		}
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		if r.Body == nil || r.Body == http.NoBody {
			r.Body = empty{} // there is nothing in it, but it cannot be had again
		}
	}
	r.GetBody = nil
}

// empty is a body of no bytes.
type empty struct{}

// Read implements io.Reader.
func (empty) Read([]byte) (int, error) { return 0, io.EOF }

// Close implements io.Closer.
func (empty) Close() error { return nil }
