package interlockhttp

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode"

	"github.com/interlock-go/interlock/guard"
)

// codes returns every Code, read from the source so that none is missing.
func codes(t *testing.T) []Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != "Code" {
			return true
		}
		for _, v := range spec.Values {
			text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, Code(text))
		}
		return true
	})
	if len(all) < 20 {
		t.Fatalf("%d codes were found, want at least 20: %q", len(all), all)
	}
	return all
}

func TestEveryCode(t *testing.T) {
	pages := map[string]string{}
	for _, name := range []string{"problems.md", "problems.zh-CN.md"} {
		text, err := os.ReadFile("../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(text)
	}
	for _, c := range codes(t) {
		t.Run(string(c), func(t *testing.T) {
			k := kinds[c]
			if k.status < 400 || k.status > 599 {
				t.Errorf("the status is %d, want 400 to 599", k.status)
			}
			for tag, all := range map[string]map[Code]problemText{"en": en, "zh": zh} {
				w := all[c]
				if w.title == "" || w.detail == "" {
					t.Errorf("the code has no text in %s", tag)
				}
				if isHan := strings.ContainsFunc(w.title, han) && strings.ContainsFunc(w.detail, han); isHan != (tag == "zh") {
					t.Errorf("the text in %s is in another language: %q", tag, w)
				}
			}
			for name, page := range pages {
				_, section, ok := strings.Cut(page, "\n## "+string(c)+"\n")
				section, _, _ = strings.Cut(section, "\n## ")
				if !ok {
					t.Errorf("the code has no section in %s", name)
				} else if !strings.Contains(section, facts(name, k)) {
					t.Errorf("%q is not in the section of the code in %s:\n%s", facts(name, k), name, section)
				}
			}
		})
	}
	if n := len(codes(t)); len(kinds) != n || len(en) != n || len(zh) != n {
		t.Errorf("there are %d codes, but %d kinds, %d English and %d Chinese texts", n, len(kinds), len(en), len(zh))
	}
}

func han(r rune) bool { return unicode.Is(unicode.Han, r) }

// facts returns the line of the docs about a kind.
func facts(page string, k kind) string {
	yes := map[bool]string{true: "yes", false: "no"}
	line := "Status %d · retryable: %s · same key: %s"
	if page == "problems.zh-CN.md" {
		yes = map[bool]string{true: "是", false: "否"}
		line = "状态码 %d · 可重试：%s · 同一个键：%s"
	}
	return fmt.Sprintf(line, k.status, yes[k.retryable], yes[k.sameKey])
}

func TestKinds(t *testing.T) {
	t.Run("in_progress has the guard's message", func(t *testing.T) {
		for tag, text := range guard.DefaultMessage() {
			if got := textOf(InProgress, tag).detail; got != text {
				t.Errorf("the detail in %s is %q, want %q", tag, got, text)
			}
		}
	})
	t.Run("a client may retry by itself only if the request cannot run twice", func(t *testing.T) {
		for c, want := range map[Code]bool{
			InProgress: true, StoreUnavailable: true, Closing: true, TooManyWaiters: true, Locked: true, BodyLate: true,
			Duplicate: false, OutcomeUnknown: false, ResultUnavailable: false, RecordCorrupt: false, KeyReused: false, FailedBefore: false,
		} {
			if p := newProblem(c); (p.Retryable && p.SameKey) != want {
				t.Errorf("%s is retryable: %v, with the same key: %v; want both: %v", c, p.Retryable, p.SameKey, want)
			}
		}
	})
	t.Run("no code requires a new key where the work may have been done", func(t *testing.T) {
		for _, c := range []Code{BodyBroken, UserMissing, OutcomeUnknown, ResultUnavailable, RecordCorrupt} {
			if !newProblem(c).SameKey {
				t.Errorf("the code %s requires a new key, want the same key", c)
			}
		}
	})
	t.Run("the texts of such codes advise against a new key", func(t *testing.T) {
		for _, c := range []Code{OutcomeUnknown, ResultUnavailable, RecordCorrupt, UpstreamUnknown} {
			if !strings.Contains(en[c].detail, "Do not retry with a new key") || !strings.Contains(zh[c].detail, "请勿更换幂等键") {
				t.Errorf("the texts of %s do not advise against a new key: %q and %q", c, en[c].detail, zh[c].detail)
			}
		}
	})
	t.Run("a new problem has the code and the status", func(t *testing.T) {
		if p := newProblem(KeyReused); p.Code != KeyReused || p.Status != http.StatusUnprocessableEntity || p.Retryable || p.SameKey {
			t.Errorf("newProblem(KeyReused) = %+v", p)
		}
		if p := newProblem("quota"); p.Code != "quota" || p.Status != http.StatusInternalServerError {
			t.Errorf("newProblem(%q) = %+v, want the status 500", "quota", p)
		}
	})
}

func TestProblemIsAnError(t *testing.T) {
	p := newProblem(InProgress)
	if got, want := p.Error(), "interlockhttp: in_progress (409): operation in progress, please do not submit again"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	cause := &guard.DownError{Guard: "orders", Key: "k", Err: io.ErrUnexpectedEOF}
	var err error = &Problem{Code: StoreUnavailable, Err: cause}
	if got, want := err.Error(), "interlockhttp: store_unavailable (503): "+cause.Error(); got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if !errors.Is(err, guard.ErrDown) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the cause of the problem is not found")
	}
	if got := (&Problem{Code: Duplicate, Message: guard.Message{"zh": "太快了"}}).Error(); got != "interlockhttp: duplicate (429): 太快了" {
		t.Errorf("Error() = %q, want the message", got)
	}
}

// A reply is a response to read.
type reply struct {
	status             int
	media, after, text string
}

func (a reply) read() (*Problem, bool) {
	return ReadProblem(&http.Response{
		StatusCode: a.status, ContentLength: -1, Body: io.NopCloser(strings.NewReader(a.text)),
		Header: http.Header{"Content-Type": {a.media}, "Retry-After": {a.after}},
	})
}

func TestReadProblem(t *testing.T) {
	t.Run("a sent problem is read back", func(t *testing.T) {
		for _, accept := range []string{"", "application/json"} {
			sent := &Problem{
				Code: ResultUnavailable, Status: 418, Retryable: true, SameKey: true, RetryAfter: 1500 * time.Millisecond,
				FirstSeen: time.Date(2025, 11, 11, 0, 0, 1, 250e6, time.UTC), OriginalStatus: 201, Location: "/orders/7",
				Message: guard.Message{"zh": "已下单"}, Docs: "https://example.com/problems", Err: io.EOF,
			}
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/orders", nil)
			r.Header.Set("Accept", accept)
			sent.ServeHTTP(w, r)
			resp := w.Result()
			got, ok := ReadProblem(resp)
			if !ok {
				t.Fatalf("ReadProblem finds no problem in %s", w.Body)
			}
			text := got.Message["zh"]
			want := *sent
			want.Err, want.Message, got.Message = nil, nil, nil
			if text != "已下单" || !got.FirstSeen.Equal(want.FirstSeen) {
				t.Errorf("the message is %q, first seen %v; want 已下单, first seen %v", text, got.FirstSeen, want.FirstSeen)
			}
			got.FirstSeen = want.FirstSeen
			if g, w := *got, want; g.Code != w.Code || g.Status != w.Status || g.Retryable != w.Retryable || g.SameKey != w.SameKey ||
				g.RetryAfter != w.RetryAfter || g.OriginalStatus != w.OriginalStatus || g.Location != w.Location || g.Docs != w.Docs {
				t.Errorf("the problem is %+v, want %+v", g, w)
			}
		}
	})
	t.Run("other responses are not problems", func(t *testing.T) {
		ours := `{"type":"https://example.com/p#locked","code":"locked"}`
		for name, c := range map[string]reply{
			"text":                    {status: 409, media: "text/plain", text: ours},
			"no type":                 {status: 409, text: ours},
			"a success":               {status: 200, media: plainJSON, text: ours},
			"a code of a business":    {status: 409, media: plainJSON, text: `{"code":"locked","account":7}`},
			"another type":            {status: 409, media: plainJSON, text: `{"type":"https://example.com/p#x","code":"locked"}`},
			"an empty code":           {status: 409, media: plainJSON, text: `{"type":"https://example.com/p#","code":""}`},
			"a list":                  {status: 409, media: problemJSON, text: `[]`},
			"null":                    {status: 409, media: problemJSON, text: `null`},
			"a truncated body":        {status: 409, media: problemJSON, text: ours[:20]},
			"trailing data":           {status: 409, media: problemJSON, text: ours + "x"},
			"a body that is too long": {status: 409, media: problemJSON, text: ours + strings.Repeat(" ", maxProblem)},
		} {
			if p, ok := c.read(); ok || p != nil {
				t.Errorf("%s is read as the problem %+v", name, p)
			}
		}
		head := http.Header{"Content-Type": {problemJSON}}
		for name, resp := range map[string]*http.Response{
			"nothing":                nil,
			"no body":                {StatusCode: 409, Header: head},
			"a large Content-Length": {StatusCode: 409, Header: head, Body: io.NopCloser(strings.NewReader(ours)), ContentLength: maxProblem + 1},
		} {
			if p, ok := ReadProblem(resp); ok || p != nil {
				t.Errorf("%s is read as the problem %+v", name, p)
			}
		}
		for _, media := range []string{"application/json", "application/problem+json; charset=utf-8", "Application/Problem+JSON"} {
			if p, ok := (reply{status: 409, media: media, text: ours}).read(); !ok || p.Code != Locked || p.Docs != "https://example.com/p" {
				t.Errorf("%s is not read as a problem: %+v", media, p)
			}
		}
	})
	t.Run("a problem of another service has no code", func(t *testing.T) {
		p, ok := reply{status: 403, media: problemJSON, text: `{"type":"https://example.com/credit","title":"No credit","detail":"balance 30","code":7,"retryable":"yes","status":"403"}`}.read()
		if !ok || p.Code != "" || p.Status != 403 || p.Retryable || p.Docs != "" || p.Message["en"] != "balance 30" {
			t.Errorf("ReadProblem() = %+v, %v; want a problem without a code", p, ok)
		}
	})
	t.Run("Retry-After counts if the body has no retry_after_ms", func(t *testing.T) {
		for value, want := range map[string]time.Duration{
			"7": 7 * time.Second, "": 0, "-1": 0, "soon": 0, "9999999999999": 9223372036 * time.Second,
			"Wed, 21 Oct 2015 07:28:00 GMT": 0,
		} {
			if p, ok := (reply{503, problemJSON, value, `{}`}).read(); !ok || p.RetryAfter != want {
				t.Errorf("with Retry-After %q the problem is %+v, want a pause of %v", value, p, want)
			}
		}
		if p, ok := (reply{503, problemJSON, "7", `{"retry_after_ms":1}`}).read(); !ok || p.RetryAfter != time.Millisecond {
			t.Errorf("the problem is %+v, want a pause of 1ms", p)
		}
		if p, ok := (reply{503, problemJSON, "", `{"retry_after_ms":9223372036854775807}`}).read(); !ok || p.RetryAfter < 100*365*24*time.Hour {
			t.Errorf("the problem is %+v, want a pause of at least 100 years", p)
		}
		date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
		if p, ok := (reply{503, problemJSON, date, `{}`}).read(); !ok || p.RetryAfter < 50*time.Minute || p.RetryAfter > time.Hour {
			t.Errorf("the problem is %+v, want a pause of nearly an hour", p)
		}
	})
}

func TestReadProblemLeavesTheBody(t *testing.T) {
	head := http.Header{"Content-Type": {problemJSON}}
	t.Run("the body stays readable, even beyond the limit", func(t *testing.T) {
		for _, n := range []int{0, 1, maxProblem, maxProblem + 1, 3 * maxProblem} {
			want := bytes.Repeat([]byte("x"), n)
			body := &watched{Reader: bytes.NewReader(want)}
			resp := &http.Response{StatusCode: http.StatusConflict, ContentLength: -1, Header: head, Body: body}
			ReadProblem(resp)
			got, err := io.ReadAll(resp.Body)
			if !bytes.Equal(got, want) || err != nil {
				t.Errorf("after ReadProblem, %d of %d bytes can be read, error %v", len(got), n, err)
			}
			if body.closed || resp.Body.Close() != nil || !body.closed {
				t.Error("the original body was closed early, or not by Close")
			}
		}
	})
	t.Run("a body that is too long is not read to the end", func(t *testing.T) {
		body := &watched{Reader: strings.NewReader(strings.Repeat("x", 3*maxProblem))}
		resp := &http.Response{StatusCode: http.StatusConflict, ContentLength: -1, Header: head, Body: body}
		ReadProblem(resp)
		if rest, _ := io.ReadAll(body); len(rest) < maxProblem {
			t.Errorf("%d bytes were left unread, want at least %d", len(rest), maxProblem)
		}
	})
	t.Run("the error of a truncated body is kept", func(t *testing.T) {
		for _, text := range []string{"", `{"code":"locked"}`} {
			resp := &http.Response{StatusCode: http.StatusConflict, ContentLength: -1, Header: head, Body: io.NopCloser(&failsOnce{io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrUnexpectedEOF)), nil})}
			if p, ok := ReadProblem(resp); ok {
				t.Errorf("a truncated body is read as the problem %+v", p)
			}
			got, err := io.ReadAll(resp.Body)
			if string(got) != text || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("reading the body returns %q, %v; want %q, %v", got, err, text, io.ErrUnexpectedEOF)
			}
		}
	})
}

// watched is a body that records whether it was closed.
type watched struct {
	io.Reader
	closed bool
}

func (c *watched) Close() error { c.closed = true; return nil }

// failsOnce is a reader that returns its error once, and then io.EOF.
type failsOnce struct {
	io.Reader
	err error
}

func (o *failsOnce) Read(b []byte) (n int, err error) {
	if o.err != nil {
		return 0, io.EOF
	}
	n, o.err = o.Reader.Read(b)
	return n, o.err
}
