package interlockhttp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// render returns the response of a problem to a request with the given header.
func render(p *interlockhttp.Problem, headers ...string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/orders", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	p.ServeHTTP(w, r)
	return w
}

func TestRender(t *testing.T) {
	t.Run("the members have a fixed order", func(t *testing.T) {
		w := render(&interlockhttp.Problem{
			Code: interlockhttp.ResultUnavailable, Status: 410, Retryable: true, SameKey: true, RetryAfter: 1500*time.Millisecond + 1,
			FirstSeen:      time.Date(2025, 11, 11, 8, 0, 0, 120e6, time.FixedZone("CST", 8*3600)),
			OriginalStatus: 201, Err: io.EOF, Docs: "https://example.com/problems",
		})
		want := `{"type":"https://example.com/problems#result_unavailable","title":"Already done, response not kept","status":410,` +
			`"detail":"This request was done before, and its response was not kept. Do not retry with a new key: look up the result instead.",` +
			`"code":"result_unavailable","retryable":true,"same_key":true,"retry_after_ms":1501,"first_seen":"2025-11-11T00:00:00.12Z","original_status":201}` + "\n"
		if got := w.Body.String(); got != want {
			t.Errorf("the body is\n%s, want\n%s", got, want)
		}
		if w.Code != http.StatusGone {
			t.Errorf("the status is %d, want 410", w.Code)
		}
	})
	t.Run("unknown members are left out", func(t *testing.T) {
		w := render(&interlockhttp.Problem{Code: interlockhttp.KeyReused, RetryAfter: -time.Second}, "Accept-Language", "zh-CN")
		want := `{"type":"` + interlockhttp.DefaultDocs + `#key_reused","title":"幂等键已用于其他请求","status":422,` +
			`"detail":"新的请求请使用新的幂等键；如需重试原请求，请确保请求内容与原来完全一致。","code":"key_reused","retryable":false,"same_key":false}` + "\n"
		if got := w.Body.String(); got != want {
			t.Errorf("the body is\n%s, want\n%s", got, want)
		}
	})
	t.Run("a message is escaped for HTML and JSON", func(t *testing.T) {
		w := render(&interlockhttp.Problem{Code: interlockhttp.Duplicate, Message: guard.Message{"en": "<script>\"\\&\x00\xff\u2028"}})
		if got, want := w.Body.String(), `"detail":"\u003cscript\u003e\"\\\u0026\u0000\ufffd\u2028"`; !strings.Contains(got, want) {
			t.Errorf("the body is %s, want %s in it", got, want)
		}
	})
	t.Run("a success status is replaced by that of the code", func(t *testing.T) {
		for _, s := range []int{-1, 0, 99, 101, 200, 204, 304, 399, 600, 1000} {
			if w := render(&interlockhttp.Problem{Code: interlockhttp.Locked, Status: s}); w.Code != http.StatusLocked || !strings.Contains(w.Body.String(), `"status":423,`) {
				t.Errorf("a problem with the status %d is sent as %d %s, want 423", s, w.Code, w.Body)
			}
		}
	})
	t.Run("a time that RFC 3339 cannot write is left out", func(t *testing.T) {
		for _, at := range []time.Time{{}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)} {
			if w := render(&interlockhttp.Problem{Code: interlockhttp.Locked, FirstSeen: at}); strings.Contains(w.Body.String(), "first_seen") {
				t.Errorf("with FirstSeen %v the body is %s, want no first_seen", at, w.Body)
			}
		}
	})
	t.Run("a HEAD request gets the headers alone", func(t *testing.T) {
		w := httptest.NewRecorder()
		(&interlockhttp.Problem{Code: interlockhttp.Locked}).ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/", nil))
		if w.Body.Len() != 0 || w.Code != http.StatusLocked || w.Header().Get("Content-Length") == "0" {
			t.Errorf("HEAD is answered with %d %v %q, want 423, a length and no body", w.Code, w.Header(), w.Body)
		}
	})
}

func TestProblemHeaders(t *testing.T) {
	p := &interlockhttp.Problem{Code: interlockhttp.InProgress, Retryable: true, RetryAfter: time.Second + 1, Location: "/订单/7"}
	t.Run("the header fields are complete", func(t *testing.T) {
		w := render(p, "Accept-Language", "zh-TW")
		want := http.Header{
			"Cache-Control":          {"no-store"},
			"Content-Language":       {"zh"},
			"Content-Type":           {"application/problem+json"},
			"Link":                   {`<` + interlockhttp.DefaultDocs + `#in_progress>; rel="describedby"; type="text/html"`},
			"Location":               {"/%E8%AE%A2%E5%8D%95/7"},
			"Retry-After":            {"2"},
			"Vary":                   {"Accept, Accept-Language"},
			"X-Content-Type-Options": {"nosniff"},
		}
		want.Set("Content-Length", strconv.Itoa(w.Body.Len()))
		if !maps.EqualFunc(w.Header(), want, slices.Equal) {
			t.Errorf("the header is %v, want %v", w.Header(), want)
		}
	})
	t.Run("fields about the handler's body are removed, others stay", func(t *testing.T) {
		w := httptest.NewRecorder()
		for _, name := range []string{
			"Content-Type", "Content-Encoding", "Content-Range", "ETag", "Last-Modified", "Trailer", "Transfer-Encoding",
			"Content-Length", "Location", "Retry-After", "Content-Language", "Content-Disposition",
			"Content-Location", "Content-Digest", "Repr-Digest", "Digest", "Accept-Ranges", "Expires", "Link", "Vary", "X-Request-Id", "Set-Cookie", "Cache-Control",
		} {
			w.Header().Set(name, "old")
		}
		w.Header()[http.TrailerPrefix+"Sum"] = []string{"old"}
		(&interlockhttp.Problem{Code: interlockhttp.KeyReused}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
		var kept []string
		for name, values := range w.Header() {
			if slices.Contains(values, "old") {
				kept = append(kept, name)
			}
		}
		slices.Sort(kept)
		if want := []string{"Link", "Set-Cookie", "Vary", "X-Request-Id"}; !slices.Equal(kept, want) {
			t.Errorf("the fields %q were kept, want %q", kept, want)
		}
		if len(w.Header()["Link"]) != 2 || len(w.Header()["Vary"]) != 2 {
			t.Errorf("the header is %v, want two values each in Link and Vary", w.Header())
		}
	})
	t.Run("a retryable problem has a Retry-After, rounded up", func(t *testing.T) {
		for _, c := range []struct {
			retryable bool
			after     time.Duration
			want      string
		}{
			{true, 0, "1"}, {true, -time.Hour, "1"}, {true, 1, "1"}, {true, time.Second, "1"}, {true, time.Second + 1, "2"},
			{true, math.MaxInt64, "9223372037"}, {false, time.Minute, ""}, {false, 0, ""},
		} {
			w := render(&interlockhttp.Problem{Code: interlockhttp.Locked, Retryable: c.retryable, RetryAfter: c.after})
			if got := w.Header().Get("Retry-After"); got != c.want {
				t.Errorf("with retryable %v and RetryAfter %v, Retry-After is %q, want %q", c.retryable, c.after, got, c.want)
			}
		}
	})
	t.Run("untrusted text cannot add header fields", func(t *testing.T) {
		w := render(&interlockhttp.Problem{
			Code: "a\r\nX: y>", Docs: "https://example.com/ä b\r\nX: y", Location: "/a\r\nX: y", Message: guard.Message{"en\r\nX: y": "hi"},
		})
		if got := w.Header(); got.Get("Location") != "" || got.Get("Content-Language") != "" ||
			!strings.HasPrefix(got.Get("Link"), "<https://example.com/%C3%A4%20b%0D%0AX:%20y#a%0D%0AX:%20y%3E>;") {
			t.Errorf("the header is %v, want no Location or Content-Language, and an escaped Link", got)
		}
	})
}

func TestNegotiate(t *testing.T) {
	const problem, json, text = "application/problem+json", "application/json", "text/plain; charset=utf-8"
	for accept, want := range map[string]string{
		"":                                      problem,
		"*/*":                                   problem, // curl
		"application/problem+json":              problem,
		"application/*":                         problem,
		"application/json":                      json,
		"Application/JSON ; charset=utf-8":      json,
		"application/json, text/plain":          json,
		"application/json, text/plain, */*":     problem, // axios
		"application/json, application/*;q=0.1": problem,
		"application/json, */*;q=0.1":           problem,
		"application/json, application/problem+json":    problem,
		"application/json, text/plain;q=0.9, */*;q=0.1": problem,
		"application/problem+json;q=0, */*":             json,
		"application/problem+json;q=0.1, text/html":     problem,
		"text/plain":            text,
		"text/*":                text,
		"text/plain, */*;q=0.1": text,
		"text/plain, */*":       problem,
		"text/plain;q=0.5, application/json;q=0.4":                                 text,
		"text/plain;q=0.4, application/json;q=0.5":                                 json,
		"text/plain;q=0.9, text/plain;format=flowed;q=0.1, application/json;q=0.5": text,
		"text/plain;q=0, text/*":                                                   problem,
		"text/plain;q=0":                                                           problem,
		"application/*;q=0, */*":                                                   text,
		"text/html":                                                                problem,
		"text/html, text/plain;q=0.9, */*;q=0.8":                                   text,
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": problem, // a browser
		"image/png":                 problem,
		";;;,,,q=,\"":               problem,
		"text/plain;q=x":            problem,
		"text/plain;q=0.1;q=0":      text,
		strings.Repeat("a/b,", 1e5): problem,
		strings.Repeat("\"", 1e5):   problem,
		"text/plain," + strings.Repeat("a/b;q=0.1,", 1e5): text,
	} {
		w := render(&interlockhttp.Problem{Code: interlockhttp.Locked}, "Accept", accept)
		if got := w.Header().Get("Content-Type"); got != want {
			t.Errorf("Accept: %.80q gets the type %s, want %s", accept, got, want)
		}
		if json := strings.HasPrefix(w.Body.String(), "{"); json == (want == text) {
			t.Errorf("Accept: %.80q gets the body %q with the type %s", accept, w.Body, want)
		}
	}
	w := render(&interlockhttp.Problem{Code: interlockhttp.Locked}, "Accept", "text/html", "Accept", "text/plain")
	if got := w.Header().Get("Content-Type"); got != text {
		t.Errorf("two Accept fields get the type %s, want %s", got, text)
	}
}

func TestText(t *testing.T) {
	w := render(&interlockhttp.Problem{Code: interlockhttp.Duplicate, Message: guard.Message{"zh": "慢一点\x1b[2J\xff\nok"}},
		"Accept", "text/plain", "Accept-Language", "zh")
	want := "重复提交\n慢一点\uFFFD[2J\uFFFD\nok\n" + interlockhttp.DefaultDocs + "#duplicate\n"
	if got := w.Body.String(); got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
}

func TestTheExampleInTheDocs(t *testing.T) {
	p := &interlockhttp.Problem{
		Code: interlockhttp.InProgress, Retryable: true, SameKey: true,
		RetryAfter: 2400 * time.Millisecond, // without FirstSeen
	}
	for name, language := range map[string]string{"problems.md": "en", "problems.zh-CN.md": "zh-CN"} {
		page, err := os.ReadFile("../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		_, example, _ := strings.Cut(string(page), "```\nHTTP/1.1 409 Conflict\n")
		example, _, _ = strings.Cut(example, "```\n")
		head, body, _ := strings.Cut(example, "\n\n")
		w := render(p, "Accept-Language", language)
		var want bytes.Buffer
		if err := json.Indent(&want, w.Body.Bytes(), "", "  "); err != nil || w.Code != http.StatusConflict {
			t.Fatalf("the problem has the status %d, and cannot be indented: %v", w.Code, err)
		}
		if body != want.String() {
			t.Errorf("%s shows\n%s, want\n%s", name, body, &want)
		}
		w.Header().Del("Content-Length") // the example leaves it out
		var replies []string
		for key, values := range w.Header() {
			replies = append(replies, key+": "+values[0])
		}
		slices.Sort(replies)
		if want := strings.Join(replies, "\n"); head != want {
			t.Errorf("%s shows\n%s, want\n%s", name, head, want)
		}
	}
}
