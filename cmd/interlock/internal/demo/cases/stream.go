package cases

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// atATime is how many runs there may be at a time: more would only measure how busy
// the machine is. Others wait, as many as there is patience for.
const (
	atATime = 6
	waiting = 64
)

// Handler returns the page's way to run cases: POST {"case": "fast", "direct":
// true} is answered with a stream of events, the last of which is the verdict.
func (p *Player) Handler() http.Handler {
	door, places := make(chan struct{}, waiting), make(chan struct{}, atATime)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Case   string `json:"case"`
			Direct bool   `json:"direct"`
		}
		read := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10))
		read.DisallowUnknownFields()
		if err := read.Decode(&in); err != nil || read.More() {
			http.Error(w, `send {"case": "fast", "direct": false}`, http.StatusBadRequest)
			return
		}
		c, ok := Find(in.Case)
		if !ok {
			http.Error(w, "there is no such case", http.StatusNotFound)
			return
		}
		select {
		case door <- struct{}{}:
			defer func() { <-door }()
		default:
			w.Header().Set("Retry-After", "5")
			http.Error(w, "too many wait already; try again in a moment", http.StatusServiceUnavailable)
			return
		}
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-r.Context().Done():
			return
		}
		p.stream(w, r, c, in.Direct)
	})
}

// stream runs a case and sends what happens as it does.
func (p *Player) stream(w http.ResponseWriter, r *http.Request, c Case, direct bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	// What happens is told under a lock, so nobody may wait for a slow browser there:
	// there is room for all of it.
	events := make(chan Event, 4*len(c.shots)+1)
	var verdict Verdict
	var err error
	go func() { // it ends with the run, and the loop below with it
		defer close(events)
		verdict, err = p.Run(r.Context(), c, direct, func(e Event) { events <- e })
	}()
	flush := http.NewResponseController(w).Flush
	broken := false
	for e := range events {
		if !broken {
			broken = send(w, "event", e) != nil || len(events) == 0 && flush() != nil
		}
	}
	switch {
	case broken || r.Context().Err() != nil:
	case err != nil:
		_ = send(w, "error", map[string]string{"error": err.Error()})
	default:
		_ = send(w, "verdict", verdict)
	}
}

func send(w io.Writer, name string, what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
	return err
}
