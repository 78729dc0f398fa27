package interlockhttp_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// sendHTTP2 is send over HTTP/2. It converts the response to a reply.
func (h *conformanceServer) sendHTTP2(t *testing.T, w mode, i int, run string) (reply, *handlerRun) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("%s/%s/%d", h.server.URL, w, i), strings.NewReader("hi"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"X-User": {"ann"}, "X-Run": {run}, "Idempotency-Key": {fmt.Sprintf("%s-%d", w, i)}, "Accept-Encoding": {"identity"}}
	resp, err := h.server.Client().Transport.RoundTrip(r)
	if err != nil {
		return reply{short: true}, h.run(t, run)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 {
		t.Fatalf("the protocol is %s, want HTTP/2", resp.Proto)
	}
	body, err := io.ReadAll(resp.Body)
	return reply{
		status: resp.Status, fields: lines(resp.Header), framing: "frames",
		body: string(body), short: err != nil, trailer: lines(resp.Trailer), open: true,
	}, h.run(t, run)
}

func lines(h http.Header) (fields []string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			fields = append(fields, name+": "+value)
		}
	}
	return fields
}

func TestCaptureBehavesTheSameOverHTTP2(t *testing.T) {
	h := newConformanceServer(t)
	h.server.EnableHTTP2 = true
	h.server.StartTLS()
	for i, a := range scenarios {
		if a.notForH2 != "" {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			want, bareRun := h.sendHTTP2(t, bare, i, fmt.Sprintf("bare-%d", i))
			for _, w := range []mode{strict, tee, submit} {
				got, again := h.sendHTTP2(t, w, i, fmt.Sprintf("%s-%d", w, i))
				if again == nil {
					t.Fatalf("%s: the handler did not run: %s", w, &got)
				}
				if !slices.Equal(got.without(mayDiffer...), want.without(mayDiffer...)) || got.status != want.status ||
					got.body != want.body || got.short != want.short || !slices.Equal(got.trailer, want.trailer) {
					t.Errorf("%s:\n got %s\nwant %s", w, &got, &want)
				}
				if !slices.Equal(again.saw, bareRun.saw) {
					t.Errorf("%s: the handler saw %q, want %q", w, again.saw, bareRun.saw)
				}
				if w == strict && a.strictly == same || w == tee && a.teed == same {
					replay, _ := h.sendHTTP2(t, w, i, fmt.Sprintf("%s-%d-again", w, i))
					a.replayed(t, w, got, replay)
				}
			}
		})
	}
}

func TestMissingHTTP2FeaturesAreReported(t *testing.T) {
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Hijack: %v", err)
		}
		if _, _, err := w.(http.Hijacker).Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Hijack: %v", err)
		}
		if err := w.(http.Pusher).Push("/style.css", nil); err == nil {
			t.Error("Push returned nil for a client that accepts no pushes")
		}
		fmt.Fprint(w, "done")
	})
	h := newConformanceServer(t)
	h.server.Config.Handler = s.mux
	h.server.EnableHTTP2 = true
	h.server.StartTLS()
	var answers []response
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.server.URL+"/orders", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = s.request("k-1", "").Header
		resp, err := h.server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, read(t, resp))
	}
	answers[0].is(200, "done")
	answers[1].replays(answers[0]) // a response without a hijack is kept
}

func TestPushIsNotSupportedOverHTTP1(t *testing.T) {
	s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
		if err := w.(http.Pusher).Push("/style.css", nil); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Push: %v", err)
		}
	})
	s.post("k-1", "x").is(200, "")
}
