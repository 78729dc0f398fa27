package interlockextproc

import (
	"bytes"
	"net/http"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A responseWriter collects the response of the handlers. When they have returned, finish
// compares it with the response of the upstream.
type responseWriter struct {
	exchange *exchange
	header   http.Header
	status   int         // 0 until the header is written
	sent     http.Header // the header when it was written
	body     bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *responseWriter) WriteHeader(status int) {
	if w.status != 0 || status < 200 { // Envoy sends 1xx responses itself
		return
	}
	w.status, w.sent = status, w.header.Clone()
	w.sent.Del(outcomeField)
	// An event stream does not end, so its header is sent before the rest was seen. A handler
	// may replace it by another response, such as a refusal.
	if x := w.exchange; x.events {
		if x.events = status == x.response.StatusCode; x.events {
			_ = x.answer(change(x.response.Header, w.sent), passMode())
		}
	}
}

// Write implements io.Writer.
func (w *responseWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.exchange.events {
		return len(p), nil // Envoy sends it
	}
	return w.body.Write(p)
}

// Flush implements [http.Flusher]. The body is sent when the handlers have returned.
func (w *responseWriter) Flush() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
}

// SetReadDeadline is for [http.ResponseController].
func (w *responseWriter) SetReadDeadline(t time.Time) error {
	w.exchange.mu.Lock()
	defer w.exchange.mu.Unlock()
	w.exchange.deadline = t
	return nil
}

// finish answers the last message. If the handlers have passed the response of the upstream
// on, Envoy continues with it. Otherwise Envoy sends the response of the handlers.
func (w *responseWriter) finish() error {
	x := w.exchange
	x.sending.Lock() // a handler that still waits has a context that is done
	defer x.sending.Unlock()
	switch {
	case x.bypassed != nil:
		return x.bypassed
	case x.hasPassed():
		return nil
	}
	w.Flush()
	switch x.waiting() {
	case none:
		if x.events {
			return nil
		}
		// Envoy waits for its upstream or for the client. An error makes it end both.
		return status.Error(codes.Aborted, "interlockextproc: the handler returned before the response has arrived")
	case responseHeaders, responseBody, responseTrailers:
		if x.response != nil && w.status == x.response.StatusCode && bytes.Equal(w.body.Bytes(), x.text) {
			return x.answer(change(x.response.Header, w.sent), nil)
		}
	}
	return x.stream.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: w.immediate()}})
}

// immediate returns the response as a message.
func (w *responseWriter) immediate() *extprocv3.ImmediateResponse {
	h := w.sent
	if _, ok := h["Content-Type"]; !ok && w.body.Len() > 0 && h.Get("Content-Encoding") == "" {
		h.Set("Content-Type", http.DetectContentType(w.body.Bytes())) // as net/http does
	}
	m := change(nil, h)
	if m == nil {
		m = &extprocv3.HeaderMutation{}
	}
	if len(h["Content-Type"]) == 0 {
		m.RemoveHeaders = []string{"content-type"} // Envoy would add its own
	}
	return &extprocv3.ImmediateResponse{
		Status:  &typev3.HttpStatus{Code: typev3.StatusCode(w.status)}, //nolint:gosec // a status has three digits
		Headers: m, Body: w.body.Bytes(), Details: "interlock",
	}
}
