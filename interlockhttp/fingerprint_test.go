package interlockhttp_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// at changes the target of a request.
func at(target string) edit {
	return func(r *http.Request) {
		u, err := url.Parse(target)
		if err != nil {
			panic(err)
		}
		r.URL.Path, r.URL.RawPath, r.URL.RawQuery = u.Path, u.RawPath, u.RawQuery
		if r.RequestURI != "" { // a request as the server receives it
			r.RequestURI = r.URL.RequestURI()
		}
	}
}

// uploads turns a request into a multipart form with a file and a random boundary.
func uploads(file, text string) edit {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("note", "urgent")
	part, _ := w.CreateFormFile("scan", file)
	_, _ = io.WriteString(part, text)
	_ = w.Close()
	return body(b.String(), w.FormDataContentType())
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func TestFingerprint(t *testing.T) {
	const plain = "text/plain"
	multi := func(text string) edit { return body(text, "multipart/form-data; boundary=b") }
	for _, c := range []struct {
		name       string
		first, now edit
		same       bool
		opts       []interlockhttp.Option
	}{
		{name: "another body", first: body("x", plain), now: body("y", plain)},
		{name: "a long body with another last byte", first: body(strings.Repeat("x", 1<<20-1)+"y", plain), now: body(strings.Repeat("x", 1<<20-1)+"z", plain)},
		{
			name: "a body above the default limit with another last byte", first: body(strings.Repeat("x", 3<<20)+"y", plain), now: body(strings.Repeat("x", 3<<20)+"z", plain),
			opts: []interlockhttp.Option{interlockhttp.MaxBody(4 << 20)},
		},
		{name: "another path, with a body that does not fit a buffer", first: combine(at("/orders/1"), body(strings.Repeat("x", 1<<16), plain)), now: combine(at("/orders/2"), body(strings.Repeat("x", 1<<16), plain))},
		{name: "the same body that does not fit a buffer", first: body(strings.Repeat("x", 1<<16), plain), now: body(strings.Repeat("x", 1<<16), plain), same: true},
		{name: "another parameter of a multipart type", first: body("--b\r\n\r\nx\r\n--b--\r\n", "multipart/related; boundary=b; start=a"), now: body("--b\r\n\r\nx\r\n--b--\r\n", "multipart/related; boundary=b; start=c")},
		{name: "two options that each ignore a query parameter", first: at("/orders?ts=1&trace=1"), now: at("/orders?ts=2&trace=2"), same: true, opts: []interlockhttp.Option{interlockhttp.IgnoreQuery("ts"), interlockhttp.IgnoreQuery("trace")}},
		{name: "two numbers that are equal as floats", first: body("9007199254740993", "application/json"), now: body("9007199254740992", "application/json")},
		{name: "spaces in JSON", first: body(`{"a":1}`, "application/json"), now: body(`{"a": 1}`, "application/json")},
		{name: "another type", first: body("x", plain), now: body("x", "text/html")},
		{name: "no body", first: body("", plain), now: body("x", plain)},
		{name: "no body, twice", first: body("", plain), now: body("", plain), same: true},
		{name: "another method", first: as("ann"), now: func(r *http.Request) { r.Method = http.MethodPatch }},
		{name: "another path", first: at("/orders/1"), now: at("/orders/2")},
		{name: "another route", first: at("/orders"), now: at("/orders/1")},
		{name: "the same path", first: at("/orders/1"), now: at("/orders/1"), same: true},
		{name: "a path with an encoded slash", first: at("/orders/a%2Fb"), now: at("/orders/a%2fb")},
		{name: "another order of names in the query", first: at("/orders?a=1&b=2"), now: at("/orders?b=2&a=1"), same: true},
		{name: "another form of the query", first: at("/orders?a=%41"), now: at("/orders?a=A"), same: true},
		{name: "another value in the query", first: at("/orders?a=1"), now: at("/orders?a=2")},
		{name: "another order of values in the query", first: at("/orders?a=1&a=2"), now: at("/orders?a=2&a=1")},
		{name: "a query", first: at("/orders"), now: at("/orders?a=1")},
		{name: "a malformed query", first: at("/orders?a=%zz"), now: at("/orders?a=%zy")},
		{name: "an ignored query parameter", first: at("/orders?a=1&ts=1"), now: at("/orders?ts=2&a=1"), same: true, opts: []interlockhttp.Option{interlockhttp.IgnoreQuery("ts", "trace")}},
		{name: "an ignored query parameter that is left out", first: at("/orders?ts=1"), now: at("/orders"), same: true, opts: []interlockhttp.Option{interlockhttp.IgnoreQuery("ts")}},
		{name: "a query parameter that is not ignored", first: at("/orders?a=1&ts=1"), now: at("/orders?a=2&ts=1"), opts: []interlockhttp.Option{interlockhttp.IgnoreQuery("ts")}},
		{name: "another coding", first: combine(body(zipped("x"), plain), with("Content-Encoding", "gzip")), now: body("x", plain)},
		{name: "another Content-Encoding", first: combine(body("x", plain), with("Content-Encoding", "gzip")), now: combine(body("x", plain), with("Content-Encoding", "br"))},
		{name: "the same coding", first: combine(body(zipped("x"), plain), with("Content-Encoding", "gzip")), now: combine(body(zipped("x"), plain), with("Content-Encoding", "gzip")), same: true},
		{name: "another boundary", first: uploads("a.png", "PNG"), now: uploads("a.png", "PNG"), same: true},
		{name: "another file", first: uploads("a.png", "PNG"), now: uploads("a.png", "GIF")},
		{name: "another name of the file", first: uploads("a.png", "PNG"), now: uploads("b.png", "PNG")},
		{name: "another field of a part", first: multi("--b\r\nContent-ID: 1\r\n\r\nx\r\n--b--\r\n"), now: multi("--b\r\nContent-ID: 2\r\n\r\nx\r\n--b--\r\n")},
		{name: "another multipart type", first: body("--b\r\n\r\nx\r\n--b--\r\n", "multipart/mixed; boundary=b"), now: multi("--b\r\n\r\nx\r\n--b--\r\n")},
		{name: "one more part", first: multi("--b\r\n\r\nx\r\n--b--\r\n"), now: multi("--b\r\n\r\nx\r\n--b\r\n\r\ny\r\n--b--\r\n")},
		{name: "a multipart body without parts", first: multi("charge 1"), now: multi("charge 2")},
		{name: "a part that is truncated in its text", first: multi("--b\r\n\r\nx"), now: multi("--b\r\n\r\ny")},
		{name: "a part that is truncated in its header", first: multi("--b\r\n\r\nx\r\n--b\r\nA: 1"), now: multi("--b\r\n\r\nx\r\n--b\r\nA: 2")},
		{name: "a header field that does not count", first: with("User-Agent", "a"), now: with("User-Agent", "b"), same: true},
		{
			name: "a part that Fingerprint ignores", first: body("1 at noon", plain), now: body("1 at dawn", plain), same: true,
			opts: []interlockhttp.Option{interlockhttp.Fingerprint(func(_ *http.Request, body []byte) []byte { return body[:1] })},
		},
		{
			name: "a part that Fingerprint covers", first: body("1 at noon", plain), now: body("2 at noon", plain),
			opts: []interlockhttp.Option{interlockhttp.Fingerprint(func(_ *http.Request, body []byte) []byte { return body[:1] })},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, kept, nil, c.opts...)
			first := s.serve("k-1", "x", c.first)
			if first.status != 201 {
				t.Fatalf("the first request gets %d %s, want 201", first.status, first.body)
			}
			again := s.serve("k-1", "x", c.now)
			if c.same {
				again.replays(first)
			} else {
				again.problem(422, interlockhttp.KeyReused)
			}
			s.ran(1)
		})
	}
}

// A key belongs to one account: a request with the same key for another account is refused.
func TestAccountHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		same   bool
		opts   []interlockhttp.Option
	}{
		"by default, Stripe-Account counts": {header: "Stripe-Account"},
		"by default, X-Request-Id does not": {header: "X-Request-Id", same: true},
		"a chosen field counts":             {header: "X-Branch", opts: []interlockhttp.Option{interlockhttp.FingerprintHeaders("x-branch")}},
		"a chosen list replaces the default": {
			header: "Stripe-Account", same: true, opts: []interlockhttp.Option{interlockhttp.FingerprintHeaders("X-Branch")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, kept, nil, c.opts...)
			first := s.serve("k-1", "x", with(c.header, "1"))
			again := s.serve("k-1", "x", with(c.header, "2"))
			if c.same {
				again.replays(first)
			} else {
				again.problem(422, interlockhttp.KeyReused)
			}
		})
	}
}

// The names of wildcards are not part of the fingerprint: renaming one changes nothing.
func TestRenamedWildcards(t *testing.T) {
	for pattern, want := range map[string]int{"POST /orders/{order}": 200, "POST /orders/{rest...}": 422, "POST /{a}/{b}": 422} {
		m, err := interlockhttp.Once(interlock.New(nil), guard.Policy{Name: "orders"}, interlockhttp.User(func(*http.Request) string { return "ann" }))
		if err != nil {
			t.Fatal(err)
		}
		handler := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for i, p := range []string{"POST /orders/{id}", pattern} {
			mux := http.NewServeMux()
			mux.Handle(p, handler)
			r := httptest.NewRequest(http.MethodPost, "/orders/7", strings.NewReader("x"))
			r.Header.Set("Idempotency-Key", "k-1")
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			if i == 1 && w.Code != want {
				t.Errorf("a repeat after the pattern changed to %s gets %d, want %d", p, w.Code, want)
			}
		}
	}
}

func TestSecrets(t *testing.T) {
	secret := func(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }
	secrets := func(newest byte, older ...byte) interlockhttp.Option {
		var rest [][]byte
		for _, n := range older {
			rest = append(rest, secret(n))
		}
		return interlockhttp.Secrets(secret(newest), rest...)
	}
	t.Run("a request from before a change of secrets is recognised", func(t *testing.T) {
		e := memory.New()
		first := openOn(t, e, kept, nil, secrets(1)).serve("k-1", "x").is(201, "order 1 of x")
		for _, opt := range []interlockhttp.Option{secrets(2, 1), secrets(3, 2, 1), secrets(1)} {
			s := openOn(t, e, kept, nil, opt)
			s.serve("k-1", "x").replays(first)
			s.serve("k-1", "y").problem(422, interlockhttp.KeyReused)
			s.ran(0)
		}
	})
	t.Run("a request from before a change is recognised even if Fingerprint reads the body", func(t *testing.T) {
		e := memory.New()
		reads := interlockhttp.Fingerprint(func(r *http.Request, _ []byte) []byte {
			text, _ := io.ReadAll(r.Body)
			return text
		})
		first := openOn(t, e, kept, nil, secrets(1), reads).serve("k-1", "x").is(201, "order 1 of x")
		s := openOn(t, e, kept, nil, secrets(3, 2, 1), reads)
		s.serve("k-1", "x").replays(first)
		s.serve("k-1", "y").problem(422, interlockhttp.KeyReused)
		s.ran(0)
	})
	t.Run("without the older secret a repeat counts as another request", func(t *testing.T) {
		e := memory.New()
		openOn(t, e, kept, nil, secrets(1)).serve("k-1", "x")
		for _, opts := range [][]interlockhttp.Option{{secrets(2)}, nil} {
			s := openOn(t, e, kept, nil, opts...)
			s.serve("k-1", "x").problem(422, interlockhttp.KeyReused)
			s.ran(0)
		}
	})
	t.Run("a repeat of a running request is in progress, not a mismatch", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, kept, func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) }, secrets(2, 1))
			var done sync.WaitGroup
			done.Go(func() { s.serve("k-1", "x") })
			synctest.Wait()
			s.serve("k-1", "x").problem(409, interlockhttp.InProgress)
			done.Wait()
		})
	})
	t.Run("wiping a secret after Secrets does not change it", func(t *testing.T) {
		e, ownSecret := memory.New(), secret(1)
		s := openOn(t, e, kept, nil, interlockhttp.Secrets(ownSecret))
		clear(ownSecret)
		first := s.serve("k-1", "x")
		openOn(t, e, kept, nil, secrets(1)).serve("k-1", "x").replays(first)
	})
	t.Run("new fingerprints use the newest secret", func(t *testing.T) {
		e := memory.New()
		first := openOn(t, e, kept, nil, secrets(2, 1)).serve("k-1", "x")
		openOn(t, e, kept, nil, secrets(2)).serve("k-1", "x").replays(first)
	})
}

func TestFormsParsedByOuterMiddleware(t *testing.T) {
	const encoded = "application/x-www-form-urlencoded"
	// parsed opens a shop behind a middleware that reads forms.
	parsed := func(t *testing.T, read func(*http.Request) error) *shop {
		s := open(t, kept, nil)
		inner := s.once.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "order %d of %v", s.runs.Add(1), r.PostForm)
		}))
		s.mux = http.NewServeMux()
		s.mux.Handle("/orders", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := read(r); err != nil {
				t.Error(err)
			}
			inner.ServeHTTP(w, r)
		}))
		return s
	}
	multi := func(r *http.Request) error { return r.ParseMultipartForm(16) } // bytes: files are on disk
	t.Run("a parsed form counts by its fields", func(t *testing.T) {
		s := parsed(t, (*http.Request).ParseForm)
		first := s.serve("k-1", "", body("item=shoes&n=2", encoded)).is(200, "order 1 of map[item:[shoes] n:[2]]")
		s.serve("k-1", "", body("n=2&item=shoes", encoded)).replays(first)
		s.serve("k-1", "", body("item=shoes&n=3", encoded)).problem(422, interlockhttp.KeyReused)
	})
	t.Run("files of a parsed form count", func(t *testing.T) {
		s := parsed(t, multi)
		first := s.post("k-1", "", uploads("a.png", strings.Repeat("PNG", 100))).is(200, "order 1 of map[note:[urgent]]")
		s.post("k-1", "", uploads("a.png", strings.Repeat("PNG", 100))).replays(first)
		s.post("k-1", "", uploads("a.png", strings.Repeat("GIF", 100))).problem(422, interlockhttp.KeyReused)
		s.post("k-1", "", uploads("b.png", strings.Repeat("PNG", 100))).problem(422, interlockhttp.KeyReused)
	})
	t.Run("the field names of files count, even without other fields", func(t *testing.T) {
		file := func(field string) edit {
			return body("--b\r\nContent-Disposition: form-data; name="+field+"; filename=a.png\r\n\r\nPNG\r\n--b--\r\n", "multipart/form-data; boundary=b")
		}
		s := parsed(t, multi)
		first := s.post("k-1", "", file("passport")).is(200, "order 1 of map[]")
		s.post("k-1", "", file("passport")).replays(first)
		s.post("k-1", "", file("invoice")).problem(422, interlockhttp.KeyReused)
	})
	t.Run("JSON is not a form", func(t *testing.T) {
		s := parsed(t, (*http.Request).ParseForm)
		s.serve("k-1", `{"n":1}`).is(200, "order 1 of map[]")
		s.serve("k-1", `{"n":2}`).problem(422, interlockhttp.KeyReused)
	})
	t.Run("a consumed body is refused", func(t *testing.T) {
		s := parsed(t, func(r *http.Request) error {
			_, err := io.ReadAll(r.Body)
			return err
		})
		s.post("k-1", "x").problem(400, interlockhttp.BodyBroken)
		s.ran(0)
	})
	t.Run("a consumed body is refused even after ParseForm found no form", func(t *testing.T) {
		s := parsed(t, func(r *http.Request) error {
			_, err := io.ReadAll(r.Body)
			return errors.Join(r.ParseForm(), err)
		})
		s.post("k-1", `{"n":1}`).problem(400, interlockhttp.BodyBroken)
		s.ran(0)
	})
}

func TestPathsMadeEqualByStripPrefix(t *testing.T) {
	s := open(t, kept, nil)
	inner := s.mux
	s.mux = http.NewServeMux()
	for _, version := range []string{"/v1", "/v2"} {
		s.mux.Handle(version+"/", http.StripPrefix(version, inner))
	}
	to := func(target string) edit {
		return func(r *http.Request) {
			at(target)(r)
			r.RequestURI = target
		}
	}
	first := s.serve("k-1", "x", to("/v1/orders")).is(201, "order 1 of x")
	s.serve("k-1", "x", to("/v1/orders?")).replays(first)
	s.serve("k-1", "x", to("/v2/orders")).problem(422, interlockhttp.KeyReused)
	s.ran(1)

	whole := func(target string) edit { return to("http://shop.example" + target) } // the form that proxies receive
	s.serve("k-1", "x", whole("/v1/orders?")).replays(first)
	s.serve("k-1", "x", whole("/v2/orders")).problem(422, interlockhttp.KeyReused)
	first = s.serve("k-2", "x", whole("/v1/orders")).is(201, "order 2 of x")
	s.serve("k-2", "x", whole("/v2/orders")).problem(422, interlockhttp.KeyReused)
	s.serve("k-2", "x", to("/v1/orders")).replays(first)
	s.ran(2)
}
