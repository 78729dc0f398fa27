package gateway

import (
	"io"
	"net/http"
)

// keyFields are the fields that make net/http retry a request on its own. It looks them
// up in canonical form only, so that it misses them in lower case.
var keyFields = map[string]string{"Idempotency-Key": "idempotency-key", "X-Idempotency-Key": "x-idempotency-key"}

// sendOnce keeps net/http from retrying a request on its own. The transport retries on a
// reused connection if it considers a request idempotent: one with a key field, or a safe
// method without a body. The upstream may have executed the first attempt.
func sendOnce(r *http.Request) {
	for name, hidden := range keyFields {
		if values, ok := r.Header[name]; ok {
			delete(r.Header, name)
			r.Header[hidden] = values
		}
	}
	if safe(r.Method) && (r.Body == nil || r.Body == http.NoBody) {
		r.Body = emptyBody{} // net/http cannot rewind it
	}
	r.GetBody = nil
}

// emptyBody is a body without bytes, of a type that net/http does not treat specially.
type emptyBody struct{}

// Read implements io.Reader.
func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }

// Close implements io.Closer.
func (emptyBody) Close() error { return nil }
