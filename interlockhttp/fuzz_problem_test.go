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
			t.Errorf("a problem with the status %d is sent with %d, want the same status if it is 400 to 599, and one in that range otherwise", status, w.Code)
		}
		for name, values := range w.Header() {
			for _, v := range values {
				if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
					t.Errorf("the header field %s is %q, want printable ASCII only", name, v)
				}
			}
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			if !utf8.Valid(w.Body.Bytes()) {
				t.Errorf("the plain text %q is not valid UTF-8", w.Body)
			}
			return
		}
		checkMembers(t, p, w)
	})
}

// checkMembers checks that the JSON in w has the members of p.
func checkMembers(t *testing.T, p *interlockhttp.Problem, w *httptest.ResponseRecorder) {
	t.Helper()
	text := w.Body.String()
	if strings.ContainsAny(text, "<>&\u2028\u2029") {
		t.Errorf("the JSON contains characters that a browser could read as HTML or a script: %s", text)
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
		t.Fatalf("the problem is not valid JSON: %v in %s", err, text)
	}
	if got.Type == "" || got.Status != w.Code || got.Code != utf8Only(string(p.Code)) ||
		got.Retryable != p.Retryable || got.SameKey != p.SameKey || got.OriginalStatus != p.OriginalStatus {
		t.Errorf("the members are %+v, want those of %+v", got, p)
	}
	for _, own := range p.Message {
		if own != "" && got.Detail != utf8Only(own) {
			t.Errorf("the detail is %q, want %q", got.Detail, own)
		}
	}
	if ms := got.RetryAfterMS; (ms != nil) != (p.RetryAfter > 0) ||
		ms != nil && (*ms < p.RetryAfter.Milliseconds() || *ms > p.RetryAfter.Milliseconds()+1) {
		t.Errorf("retry_after_ms in %s does not equal %v, rounded up", text, p.RetryAfter)
	}
	if got.FirstSeen != nil && !got.FirstSeen.Equal(p.FirstSeen) {
		t.Errorf("first_seen is %v, want %v", got.FirstSeen, p.FirstSeen)
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
			t.Fatalf("ReadProblem() = %+v, %v; want a problem if and only if it reports true", p, ok)
		}
		if got, err := io.ReadAll(resp.Body); !bytes.Equal(got, body) || err != nil {
			t.Errorf("after ReadProblem, %d of %d bytes of the body can be read, error %v", len(got), len(body), err)
		}
		if !ok {
			return
		}
		if p.RetryAfter < 0 || len(body) > 64<<10 || !json.Valid(body) || p.Status != status {
			t.Errorf("ReadProblem(%q) = %+v, want valid JSON of at most 64 KiB, the status %d and no negative pause", body, p, status)
		}
		if p.Error() == "" {
			t.Error(`Error() = "", want a text`)
		}
		again, ok := interlockhttp.ReadProblem(render(p).Result())
		if !ok || again.Code != p.Code || again.Retryable != p.Retryable || again.SameKey != p.SameKey || again.OriginalStatus != p.OriginalStatus {
			t.Errorf("the problem, sent again and read again, is %+v, want %+v", again, p)
		}
	})
}
