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

func (s *Server) eventRoutes() {
	registry := s.api.OpenAPI().Components.Schemas
	huma.Register(s.api, huma.Operation{
		OperationID: "stream-events", Method: http.MethodGet, Path: "/api/v1/events", Tags: []string{"events"},
		Summary: "Listen to what happens",
		Description: "Server-sent events; the data of each is an Event in JSON. Without Last-Event-ID it begins with what happens from now on. " +
			"An event of the kind missed says that some are not known any more. Who reads too slowly is cut off, and may come back.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The stream", Content: map[string]*huma.MediaType{
				"text/event-stream": {Schema: registry.Schema(reflect.TypeFor[Event](), true, "Event")},
			}},
			"default": {Description: "Something else than what was asked for", Content: map[string]*huma.MediaType{
				problemJSON: {Schema: registry.Schema(problemType, true, "Problem")},
			}},
		},
	}, s.streamEvents)
	route(s, "list-audit", "GET /audit", "List what was changed, and what was refused",
		"Of this process, and so many of the latest; the file that the configuration names has all.", s.listAudit)
}

func (s *Server) streamEvents(_ context.Context, in *struct {
	Last string `header:"Last-Event-ID" maxLength:"64" doc:"The ID of the last event that was heard."`
}) (*huma.StreamResponse, error) {
	if !s.events.enter() {
		return nil, problem(TooManyStreams, "%d listen already, or this server ends: close one", maxStreams).after(heartbeat)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer s.events.leave()
		r, w := humago.Unwrap(hc)
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no") // nginx would keep it back
		w.WriteHeader(http.StatusOK)
		x := stream{events: s.events, w: w, control: http.NewResponseController(w), valid: s.auth.sessionCheck(actorOf(r.Context()))}
		x.run(r.Context(), in.Last)
	}}, nil
}

// stillGood returns what tells whether the session of a stream has not ended.
func (d *auth) sessionCheck(by actor) func() bool {
	return func() bool {
		if by.session == "" {
			return true
		}
		_, ok := d.sessions.find(by.session)
		return ok
	}
}

// A stream is one who listens.
type stream struct {
	events  *Events
	w       http.ResponseWriter
	control *http.ResponseController
	valid   func() bool
	buf     bytes.Buffer
}

// run tells events until ctx is done, the events end, or nobody reads.
func (x *stream) run(ctx context.Context, last string) {
	next, whole := x.events.after(last)
	fmt.Fprintf(&x.buf, "retry: 2000\n: welcome\n\n")
	if !whole {
		x.add(Event{ID: x.events.id(next - 1), Time: time.Now().UTC(), Kind: "missed", Data: map[string]string{"after": last}})
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		events, news, ok := x.events.from(next)
		if !ok {
			return // it is too slow, or they end
		}
		for _, e := range events {
			x.add(e)
		}
		next += uint64(len(events))
		if !x.flush() || !pause(ctx, batch) {
			return
		}
		select {
		case <-news:
		case <-beat.C:
			if !x.valid() {
				return
			}
			x.buf.WriteString(": still here\n\n")
		case <-ctx.Done():
			return
		}
	}
}

// put writes an event down, to be sent.
func (x *stream) add(e Event) {
	data, err := json.Marshal(e)
	if err != nil { // somebody has told what has no JSON
		data, _ = json.Marshal(Event{ID: e.ID, Time: e.Time, Kind: e.Kind, Data: fmt.Sprint(e.Data)})
	}
	fmt.Fprintf(&x.buf, "id: %s\ndata: %s\n\n", e.ID, data)
}

// flush sends what was written, and reports whether it was read in time.
func (x *stream) flush() bool {
	if x.buf.Len() == 0 {
		return true
	}
	_ = x.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer without deadlines has a reader without delays
	_, err := x.w.Write(x.buf.Bytes())
	x.buf.Reset()
	if err != nil {
		return false
	}
	return x.control.Flush() == nil
}

// rest waits, and reports whether ctx is not done.
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
