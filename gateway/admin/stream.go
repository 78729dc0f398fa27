package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// eventRoutes registers the stream by hand: route describes JSON responses only.
func (s *Server) eventRoutes() {
	registry := s.api.OpenAPI().Components.Schemas
	huma.Register(s.api, huma.Operation{
		OperationID: "stream-events", Method: http.MethodGet, Path: "/api/v1/events", Tags: []string{"events"},
		Summary: "Stream events",
		Description: "Server-sent events; the data of each is an Event in JSON. Without Last-Event-ID, the stream starts with the next event. " +
			"An event of the kind missed means that some events are lost. A client that reads too slowly is disconnected, and may reconnect.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The stream", Content: map[string]*huma.MediaType{
				"text/event-stream": {Schema: registry.Schema(reflect.TypeFor[Event](), true, "Event")},
			}},
			"default": {Description: "An error", Content: map[string]*huma.MediaType{
				problemJSON: {Schema: registry.Schema(problemType, true, "Problem")},
			}},
		},
	}, s.streamEvents)
	route(s, "list-audit", "GET /audit", "List changes and refused attempts",
		"The latest entries of this process. The file in admin.audit has all of them.", s.listAudit)
}

// streamEvents counts the stream before its header is sent, while it can still be
// refused.
func (s *Server) streamEvents(_ context.Context, in *struct {
	Last string `header:"Last-Event-ID" maxLength:"64" doc:"The id of the last event received."`
}) (*huma.StreamResponse, error) {
	if !s.events.enter() {
		return nil, problem(TooManyStreams, "%d streams are open already, or the server is shutting down: close one, or retry later", maxStreams).after(heartbeat)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer s.events.leave()
		r, w := humago.Unwrap(hc)
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no") // nginx would delay the events
		w.WriteHeader(http.StatusOK)
		x := stream{events: s.events, w: w, control: http.NewResponseController(w), valid: s.auth.sessionCheck(actorOf(r.Context()))}
		x.run(r.Context(), in.Last)
	}}, nil
}

// sessionCheck returns a function that reports whether the stream's session is still
// valid. A stream that began with a token stays valid until its connection closes.
func (d *auth) sessionCheck(sender actor) func() bool {
	return func() bool {
		if sender.session == "" {
			return true
		}
		_, ok := d.sessions.find(sender.session)
		return ok
	}
}

// A stream sends events to one client.
type stream struct {
	events  *Events
	w       http.ResponseWriter
	control *http.ResponseController
	valid   func() bool
	buf     bytes.Buffer
}

// run sends events until ctx is done, the events are closed, or the client is too slow.
func (x *stream) run(ctx context.Context, last string) {
	next, complete := x.events.after(last)
	// retry is the browser's pause before it reconnects, in milliseconds. The comment
	// behind it lets a client see at once that the stream is open.
	fmt.Fprintf(&x.buf, "retry: 2000\n: welcome\n\n")
	if !complete {
		x.add(Event{ID: x.events.id(next - 1), Time: time.Now().UTC(), Kind: "missed", Data: map[string]string{"after": last}})
	}
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		events, more, ok := x.events.from(next)
		if !ok {
			return // the client is too slow, or the server is closing
		}
		for _, e := range events {
			x.add(e)
		}
		// from returns events without a gap, so the count gives the next number.
		next += uint64(len(events))
		// The pause collects events, so that a busy process does not write for each one.
		if !x.flush() || !pause(ctx, batch) {
			return
		}
		select {
		case <-more:
		case <-ticker.C:
			// A stream outlives many requests, so a session that ended meanwhile must
			// close it.
			if !x.valid() {
				return
			}
			x.buf.WriteString(": still here\n\n")
		case <-ctx.Done():
			return
		}
	}
}

// add adds an event to the buffer.
func (x *stream) add(e Event) {
	data, err := json.Marshal(e)
	if err != nil { // the data of a published event cannot be encoded
		// The event is kept as text: a stream with a missing ID would look like a gap.
		data, _ = json.Marshal(Event{ID: e.ID, Time: e.Time, Kind: e.Kind, Data: fmt.Sprint(e.Data)})
	}
	fmt.Fprintf(&x.buf, "id: %s\ndata: %s\n\n", e.ID, data)
}

// flush sends the buffer, and reports whether the client read it in time.
func (x *stream) flush() bool {
	if x.buf.Len() == 0 {
		return true
	}
	_ = x.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // only the writer of a test lacks deadlines, and it is never slow
	_, err := x.w.Write(x.buf.Bytes())
	x.buf.Reset()
	if err != nil {
		return false
	}
	return x.control.Flush() == nil
}

// pause waits, and returns false if ctx is done first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
