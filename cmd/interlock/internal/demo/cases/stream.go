package cases

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxRunning limits simultaneous runs: with more, the results would depend on the
// machine's load. Up to maxWaiting requests are admitted in total.
const (
	maxRunning = 6
	maxWaiting = 64
)

// Handler runs a case on POST {"case": "fast", "direct": true}. The response is an event
// stream that ends with the verdict.
func (p *Player) Handler() http.Handler {
	// Two semaphores: an excess request is refused at once, the others wait for a free
	// run.
	admitted, running := make(chan struct{}, maxWaiting), make(chan struct{}, maxRunning)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Case   string `json:"case"`
			Direct bool   `json:"direct"`
		}
		read := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)) // 1 KiB; a request has about 40 bytes
		read.DisallowUnknownFields()
		if err := read.Decode(&in); err != nil || read.More() {
			http.Error(w, `send {"case": "fast", "direct": false}`, http.StatusBadRequest)
			return
		}
		c, ok := Find(in.Case)
		if !ok {
			http.Error(w, "unknown case", http.StatusNotFound)
			return
		}
		select {
		case admitted <- struct{}{}:
			defer func() { <-admitted }()
		default:
			w.Header().Set("Retry-After", "5")
			http.Error(w, "too many runs are waiting; try again later", http.StatusServiceUnavailable)
			return
		}
		select {
		case running <- struct{}{}:
			defer func() { <-running }()
		case <-r.Context().Done():
			return
		}
		p.stream(w, r, c, in.Direct)
	})
}

// stream runs a case and sends its events.
func (p *Player) stream(w http.ResponseWriter, r *http.Request, c Case, direct bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	// The run emits events under a lock, which must not wait for a slow browser. The
	// buffer holds all events of a run.
	// A request has up to four: ask, enter, leave, and its outcome.
	events := make(chan Event, 4*len(c.calls)+1)
	var verdict Verdict
	var err error
	go func() { // ends with the run; the loop below waits for it
		defer close(events)
		verdict, err = p.Run(r.Context(), c, direct, func(e Event) { events <- e })
	}()
	flush := http.NewResponseController(w).Flush
	broken := false
	// The loop continues after a failed write: the run must end before its result is read.
	// It flushes only when no more events are ready.
	for e := range events {
		if !broken {
			broken = send(w, "event", e) != nil || len(events) == 0 && flush() != nil
		}
	}
	switch {
	case broken || r.Context().Err() != nil: // the browser is gone
	case err != nil:
		_ = send(w, "error", map[string]string{"error": err.Error()})
	default:
		_ = send(w, "verdict", verdict)
	}
}

// send writes a server-sent event.
func send(w io.Writer, name string, what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
	return err
}
