package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway/admin"
)

// A listener reads an event stream.
type listener struct {
	t      *testing.T
	lines  *bufio.Reader
	cancel context.CancelFunc
}

// listen opens a stream, after the event with that id.
func (w *fixture) listen(last string) *listener {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	w.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.server.URL+"/api/v1/events", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = w.header.Clone()
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Cache-Control") != "no-store" {
		w.t.Fatalf("the stream is answered with %d, %v; want 200, an event stream and no-store", resp.StatusCode, resp.Header)
	}
	l := &listener{w.t, bufio.NewReader(resp.Body), cancel}
	for { // until the stream has started
		if line, err := l.lines.ReadString('\n'); err != nil || line == ": welcome\n" {
			return l
		}
	}
}

// next returns the next event; one without an id if the stream has ended.
func (l *listener) next() (e admin.Event) {
	l.t.Helper()
	var id string
	for {
		line, err := l.lines.ReadString('\n')
		if err != nil {
			return admin.Event{}
		}
		if rest, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(rest)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &e); err != nil || e.ID != id {
				l.t.Fatalf("the event %s with the id %s cannot be decoded, or has another id: %v", data, id, err)
			}
			return e
		}
	}
}

// wantNext returns the next event, and checks its kind.
func (l *listener) wantNext(kind string) admin.Event {
	l.t.Helper()
	e := l.next()
	if e.Kind != kind {
		l.t.Fatalf("the event is %+v, want %s", e, kind)
	}
	return e
}

func TestEvents(t *testing.T) {
	t.Run("the stream has events of locks, operators and the gateway", func(t *testing.T) {
		w := open(t)
		l := w.listen("")
		hold := w.lock(w.client.Mutex("a:1"))
		if what := l.wantNext("lock.acquired").Data.(map[string]any); what["key"] != "a:1" || what["owner"] == hold.Holder() {
			t.Errorf("the event is %v, want key a:1 and, as owner, a hash of the holder id", what)
		}
		w.post(pathOf("locks", "a:1")+"/release", reasonBody)
		for kinds := map[string]bool{"admin": true, "lock.lost": true}; len(kinds) > 0; {
			e := l.next()
			if !kinds[e.Kind] {
				t.Fatalf("the event is %+v, want one of the kinds %v", e, kinds)
			}
			delete(kinds, e.Kind)
		}
		w.api.Publish("gateway", map[string]string{"rule": "pay"})
		l.wantNext("gateway")
		w.api.Publish("odd", func() {}) // a function cannot be encoded as JSON
		l.wantNext("odd")
	})
	t.Run("the error of a lock event contains no holder", func(t *testing.T) {
		events := admin.NewEvents()
		l := open(t, func(o *admin.Options) { o.Events = events }).listen("")
		events.Trace().Contended(interlock.Contended{Key: "a:1", Holder: "id-of-the-holder:1", Err: errors.New("held by id-of-the-holder:1")})
		if what := l.wantNext("lock.contended").Data.(map[string]any); strings.Contains(fmt.Sprint(what), "id-of-the-holder") || !strings.HasPrefix(what["error"].(string), "held by ") {
			t.Errorf("the event is %v, want an error that begins with held by, without the holder id", what)
		}
	})
	t.Run("a client that reconnects resumes where it was", func(t *testing.T) {
		w := open(t)
		l := w.listen("")
		w.api.Publish("one", 1)
		first := l.wantNext("one")
		l.cancel()
		w.api.Publish("two", 2)
		w.api.Publish("three", 3)
		l = w.listen(first.ID)
		l.wantNext("two")
		l.wantNext("three")
	})
	t.Run("a client that reconnects too late, or after a restart, learns that it missed events", func(t *testing.T) {
		w := open(t)
		w.api.Publish("first", nil)
		l := w.listen("another-1")
		l.wantNext("missed")
		first := l.wantNext("first")
		l.cancel()
		for i := range 5000 {
			w.api.Publish("many", i)
		}
		l = w.listen(first.ID)
		l.wantNext("missed")
		if e := l.wantNext("many"); e.Data.(float64) != 5000-4096 {
			t.Errorf("the stream resumes with %+v, want the oldest event in memory, number %d", e, 5000-4096)
		}
		w.listen("nonsense").wantNext("missed")
	})
	t.Run("the number of streams is limited", func(t *testing.T) {
		events := admin.NewEvents()
		w := open(t, func(o *admin.Options) { o.Events = events })
		var all []*listener
		for range 64 {
			all = append(all, w.listen(""))
		}
		w.get("/api/v1/events").problem(503, admin.TooManyStreams)
		for _, l := range all {
			l.cancel()
		}
		for events.Streams() > 0 {
			time.Sleep(time.Millisecond)
		}
		w.listen("")
	})
	t.Run("a slow client is disconnected, and does not delay others", func(t *testing.T) {
		w := open(t)
		l := w.listen("")
		large := strings.Repeat("x", 10_000)
		for i := 0; ; i++ { // more than the connection's buffers hold, and more events than the API keeps
			if w.api.Publish("large", large); i > 3*4096 {
				break
			}
		}
		n := 0
		for l.next().ID != "" {
			n++
		}
		if n > 2*4096 {
			t.Errorf("the slow client received %d events, want at most %d", n, 2*4096)
		}
	})
	t.Run("streams end with the server", func(t *testing.T) {
		w := open(t)
		l := w.listen("")
		w.end()
		if e := l.next(); e.ID != "" {
			t.Errorf("after the server has ended, the client receives %+v, want the end of the stream", e)
		}
		w.get("/api/v1/events").problem(503, admin.TooManyStreams)
	})
	t.Run("above the rate limit, lock events are skipped and counted", func(t *testing.T) {
		events := admin.NewEvents()
		l := open(t, func(o *admin.Options) { o.Events = events }).listen("")
		acquired := events.Trace().Acquired
		for range 20_000 { // far more than the rate limit allows
			acquired(interlock.Acquired{Key: "a:1"})
		}
		time.Sleep(100 * time.Millisecond) // until the limit allows more
		acquired(interlock.Acquired{Key: "a:2"})
		for {
			if e := l.next(); e.Kind == "skipped" {
				return
			} else if e.ID == "" {
				t.Fatal("no event counts the skipped ones")
			}
		}
	})
	t.Run("a session cookie is enough to open a stream", func(t *testing.T) {
		w := open(t, withTokens)
		w.get("/api/v1/events").problem(401, admin.Unauthenticated)
		value, _, _ := strings.Cut(w.post("/api/v1/session", map[string]any{"token": viewer}).header.Get("Set-Cookie"), ";")
		l := w.with("Cookie", value).listen("")
		w.api.Publish("one", 1)
		l.wantNext("one")
	})
}
