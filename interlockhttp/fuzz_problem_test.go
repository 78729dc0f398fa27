package interlockhttp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// FuzzProblemRendered checks that every problem is well-formed and complete in every
// language and media type.
func FuzzProblemRendered(f *testing.F) {
	f.Fuzz(func(t *testing.T, accept, languages, code, tag, message, location, docs string, status, original int, after, seen int64, retryable, sameKey bool) {
		p := &interlockhttp.Problem{
			Code: interlockhttp.Code(code), Status: status, Retryable: retryable, SameKey: sameKey,
			RetryAfter: time.Duration(after), FirstSeen: time.UnixMilli(seen), OriginalStatus: original,
			Message: guard.Message{tag: message}, Location: location, Docs: docs,
		}
		w := render(p, "Accept", accept, "Accept-Language", languages)
		if w.Code < 400 || w.Code > 599 || status >= 400 && status <= 599 && w.Code != status {
			t.Errorf("status %d gave %d", status, w.Code)
		}
		for name, values := range w.Header() {
			for _, v := range values {
				if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
					t.Errorf("%s: %q", name, v)
				}
			}
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			if !utf8.Valid(w.Body.Bytes()) {
				t.Errorf("%q", w.Body)
			}
			return
		}
		sameMembers(t, p, w)
	})
}

// sameMembers checks that the JSON in w equals p.
func sameMembers(t *testing.T, p *interlockhttp.Problem, w *httptest.ResponseRecorder) {
	t.Helper()
	text := w.Body.String()
	if strings.ContainsAny(text, "<>&\u2028\u2029") {
		t.Errorf("could be taken for HTML or a script: %s", text)
	}
	var got struct {
		Type, Title, Detail, Code string
		Status                    int
		Retryable                 bool
		SameKey                   bool       `json:"same_key"`
		RetryAfterMS              *int64     `json:"retry_after_ms"`
		FirstSeen                 *time.Time `json:"first_seen"`
		OriginalStatus            int        `json:"original_status"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got.Type == "" || got.Status != w.Code || got.Code != utf8Only(string(p.Code)) ||
		got.Retryable != p.Retryable || got.SameKey != p.SameKey || got.OriginalStatus != p.OriginalStatus {
		t.Errorf("%+v, want %+v", got, p)
	}
	for _, own := range p.Message {
		if own != "" && got.Detail != utf8Only(own) {
			t.Errorf("detail %q, want %q", got.Detail, own)
		}
	}
	if ms := got.RetryAfterMS; (ms != nil) != (p.RetryAfter > 0) ||
		ms != nil && (*ms < p.RetryAfter.Milliseconds() || *ms > p.RetryAfter.Milliseconds()+1) {
		t.Errorf("%s, want %v", text, p.RetryAfter)
	}
	if got.FirstSeen != nil && !got.FirstSeen.Equal(p.FirstSeen) {
		t.Errorf("first seen %v, want %v", got.FirstSeen, p.FirstSeen)
	}
}

// utf8Only replaces invalid UTF-8, as encoding/json does.
func utf8Only(s string) string { return string([]rune(s)) }

// FuzzProblemRead checks that after ReadProblem any body can still be read in full, and
// that a problem survives being sent again.
func FuzzProblemRead(f *testing.F) {
	f.Fuzz(func(t *testing.T, media, language, after string, status, padding int, body []byte) {
		body = append(body, bytes.Repeat([]byte(" "), min(max(padding, 0), 70<<10))...)
		resp := &http.Response{
			StatusCode: status, ContentLength: -1, Body: io.NopCloser(bytes.NewReader(body)),
			Header: http.Header{"Content-Type": {media}, "Content-Language": {language}, "Retry-After": {after}},
		}
		p, ok := interlockhttp.ReadProblem(resp)
		if ok != (p != nil) {
			t.Fatalf("%+v, %v", p, ok)
		}
		if got, err := io.ReadAll(resp.Body); !bytes.Equal(got, body) || err != nil {
			t.Errorf("%d bytes left of %d, %v", len(got), len(body), err)
		}
		if !ok {
			return
		}
		if p.RetryAfter < 0 || len(body) > 64<<10 || !json.Valid(body) || p.Status != status {
			t.Errorf("%+v of %q", p, body)
		}
		if p.Error() == "" {
			t.Error("has nothing to say")
		}
		again, ok := interlockhttp.ReadProblem(render(p).Result())
		if !ok || again.Code != p.Code || again.Retryable != p.Retryable || again.SameKey != p.SameKey || again.OriginalStatus != p.OriginalStatus {
			t.Errorf("passed on as %+v, was %+v", again, p)
		}
	})
}
