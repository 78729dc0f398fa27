package interlockhttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

func TestOneKeyForEachIntent(t *testing.T) {
	uuid := regexp.MustCompile(`^"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"$`)
	inVirtualTime("all tries of a request have one key, and two requests have two", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(503)}}
		rt := transport(s)
		_, _ = post(t, rt, strings.NewReader("body"))
		_, _ = post(t, rt, strings.NewReader("body"))
		s.want(t, 8)
		for i, request := range s.seen {
			if len(request.field) != 1 || !uuid.MatchString(request.field[0]) || request.field[0] != s.seen[i/4*4].field[0] {
				t.Errorf("try %d has the key %q, want the UUID of its request", i+1, request.field)
			}
		}
		if s.seen[0].field[0] == s.seen[4].field[0] {
			t.Error("two intents have the same key")
		}
	})
	inVirtualTime("WithKey sets the key, so that the request can be repeated later", t, func(t *testing.T) {
		s, key := &scriptedTransport{replies: []scriptedReply{respondsWith(200)}}, interlockhttp.NewKey()
		for range 2 {
			_, _ = postWith(interlockhttp.WithKey(t.Context(), key), t, transport(s), nil)
		}
		for _, request := range s.seen {
			if len(request.field) != 1 || request.field[0] != `"`+key+`"` {
				t.Errorf("the request has the key %q, want %q", request.field, key)
			}
			if sent, ok := interlockhttp.KeyFrom(request.req.Context()); sent != key || !ok {
				t.Errorf("KeyFrom() = %q, %v; want %q", sent, ok, key)
			}
		}
	})
	for _, name := range []string{"Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY"} {
		inVirtualTime("a request that has a key keeps it, with its name written as "+name, t, func(t *testing.T) {
			for _, value := range []string{"bare", `"quoted \" here"`} {
				s := &scriptedTransport{replies: []scriptedReply{respondsWith(503)}}
				req, _ := http.NewRequestWithContext(interlockhttp.WithKey(t.Context(), "other"), http.MethodPost, "http://pay.example/", http.NoBody)
				req.Header[name] = []string{value}
				resp, err := transport(s).RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				s.want(t, 4)
				for _, request := range s.seen {
					if len(request.field) != 1 || request.field[0] != value {
						t.Errorf("the request has the key %q, want %q", request.field, value)
					}
				}
				if key, _ := interlockhttp.KeyFrom(resp.Request.Context()); key != "bare" && key != `quoted " here` {
					t.Errorf("KeyFrom() = %q, want the key without quotation marks", key)
				}
			}
		})
	}
	for _, c := range []struct {
		name, key, want string
		opts            []interlockhttp.TransportOption
	}{
		{"a key is sent as a quoted string", "order 7", `"order 7"`, nil},
		{"special characters in a quoted key are escaped", `a"b\c`, `"a\"b\\c"`, nil},
		{"a bare key is sent unchanged", "order-7", "order-7", []interlockhttp.TransportOption{interlockhttp.Bare()}},
		{"a key of 255 bytes is sent", strings.Repeat("k", 255), `"` + strings.Repeat("k", 255) + `"`, nil},
	} {
		inVirtualTime(c.name, t, func(t *testing.T) {
			s := &scriptedTransport{replies: []scriptedReply{respondsWith(200)}}
			if _, err := postWith(interlockhttp.WithKey(t.Context(), c.key), t, transport(s, c.opts...), nil); err != nil {
				t.Fatal(err)
			}
			if got := s.seen[0].field; len(got) != 1 || got[0] != c.want {
				t.Errorf("the key is sent as %q, want %q", got, c.want)
			}
		})
	}
	bare := []interlockhttp.TransportOption{interlockhttp.Bare()}
	for _, c := range []struct {
		name, key string
		opts      []interlockhttp.TransportOption
	}{
		{"an empty key", "", nil},
		{"a key with a line break", "a\r\nX-Admin: yes", nil},
		{"a key with a tab", "a\tb", nil},
		{"a key with a DEL", "a\x7f", nil},
		{"a key that is not ASCII", "bestellung-für-7", nil},
		{"a key of 256 bytes", strings.Repeat("k", 256), nil},
		{"a bare key with a space", "order 7", bare},
		{"a bare key with a quotation mark", `"order`, bare},
		{"a bare key with a comma", "a,b", bare},
		{"a bare key with a semicolon", "a;b", bare},
		{"a bare key with a backslash", `a\b`, bare},
	} {
		inVirtualTime(c.name+" is refused before anything is sent", t, func(t *testing.T) {
			s, body := &scriptedTransport{replies: []scriptedReply{respondsWith(200)}}, &plain{Reader: strings.NewReader("body")}
			_, err := postWith(interlockhttp.WithKey(t.Context(), c.key), t, transport(s, c.opts...), body)
			if err == nil {
				t.Error("the request was sent, want an error")
			} else if c.key != "" && strings.Contains(err.Error(), c.key) {
				t.Errorf("the error %q contains the key", err)
			}
			if s.want(t, 0); body.closed == 0 {
				t.Error("the request body was not closed")
			}
			if c.opts != nil {
				return
			}
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pay.example/", http.NoBody)
			req.Header.Set("Idempotency-Key", c.key)
			if resp, err := transport(s).RoundTrip(req); err == nil {
				resp.Body.Close()
				t.Error("a request with this key in its header was sent, want an error")
			}
			s.want(t, 0)
		})
	}
	inVirtualTime("a request with two keys is refused", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(200)}}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pay.example/", http.NoBody)
		req.Header["Idempotency-Key"], req.Header["idempotency-key"] = []string{"a"}, []string{"b"}
		if resp, err := transport(s).RoundTrip(req); err == nil {
			resp.Body.Close()
			t.Error("the request was sent, want an error")
		}
		s.want(t, 0)
	})
	inVirtualTime("after a redirect, a result that cannot be fetched leaves the outcome unknown", t, func(t *testing.T) {
		dial := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(303, "Location: /receipt"), respondsWith(302, "Location: /receipt/1"), fails(dial)}}
		client := &http.Client{Transport: transport(s)}
		resp, err := client.Post("http://pay.example/", "text/plain", strings.NewReader("body"))
		if err == nil {
			resp.Body.Close()
		}
		var gaveUp *interlockhttp.GaveUpError
		if !errors.As(err, &gaveUp) || gaveUp.Key == "" || guard.Classify(err) != guard.ClassUnknown {
			t.Errorf("the error is %v of the class %s, want a GaveUpError with a key and an unknown outcome", err, guard.Classify(err))
		}
		s.want(t, 3)
	})
	inVirtualTime("a request that is redirected keeps its key", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(307, "Location: /elsewhere"), respondsWith(503), respondsWith(200)}}
		client := &http.Client{Transport: transport(s)}
		resp, err := client.Post("http://pay.example/", "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		s.want(t, 3)
		for _, request := range s.seen {
			if len(request.field) != 1 || request.field[0] != s.seen[0].field[0] || request.body != "body" {
				t.Errorf("a try has the body %q and the key %q, want those of the first", request.body, request.field)
			}
		}
	})
}

func TestTransportOptions(t *testing.T) {
	inVirtualTime("KeyHeader names another field", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(200)}}
		_, _ = postWith(interlockhttp.WithKey(t.Context(), "k"), t, transport(s, interlockhttp.KeyHeader("Request-Token")), nil)
		if got := inLowerCase(s.seen[0].req, "Request-Token"); len(got) != 1 || got[0] != `"k"` || len(s.seen[0].field) != 0 {
			t.Errorf("the header is %q, want the key in Request-Token only", s.seen[0].req.Header)
		}
	})
	for _, c := range []struct {
		method string
		keyed  bool
		opts   []interlockhttp.TransportOption
	}{
		{"POST", true, nil},
		{"PATCH", true, nil},
		{"GET", false, nil},
		{"PUT", false, nil},
		{"DELETE", false, nil},
		{"DELETE", true, []interlockhttp.TransportOption{interlockhttp.KeyedMethods("DELETE")}},
		{"POST", false, []interlockhttp.TransportOption{interlockhttp.KeyedMethods("DELETE")}},
	} {
		inVirtualTime("methods decide which requests get keys: "+c.method, t, func(t *testing.T) {
			s := &scriptedTransport{replies: []scriptedReply{respondsWith(503)}}
			req, _ := http.NewRequestWithContext(interlockhttp.WithKey(t.Context(), "k"), c.method, "http://pay.example/", http.NoBody)
			resp, err := transport(s, c.opts...).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if keyed := len(s.seen[0].field) == 1; keyed != c.keyed || (len(s.seen) > 1) != c.keyed {
				t.Errorf("the request has a key: %v, and was sent %d times; want a key and retries: %v", keyed, len(s.seen), c.keyed)
			}
			if !c.keyed && s.seen[0].req != req {
				t.Error("a request without a key was changed")
			}
		})
	}
	for name, opt := range map[string]func() interlockhttp.TransportOption{
		"no header":                         func() interlockhttp.TransportOption { return interlockhttp.KeyHeader("") },
		"a header with a space":             func() interlockhttp.TransportOption { return interlockhttp.KeyHeader("My Key") },
		"a header with a colon":             func() interlockhttp.TransportOption { return interlockhttp.KeyHeader("My-Key:") },
		"a method with a space":             func() interlockhttp.TransportOption { return interlockhttp.KeyedMethods("PO ST") },
		"no attempts":                       func() interlockhttp.TransportOption { return interlockhttp.Attempts(0) },
		"a RetryFor of zero":                func() interlockhttp.TransportOption { return interlockhttp.RetryFor(0) },
		"a negative Lifetime":               func() interlockhttp.TransportOption { return interlockhttp.Lifetime(-1) },
		"a MaxRetryAfter of zero":           func() interlockhttp.TransportOption { return interlockhttp.MaxRetryAfter(0) },
		"a pause of zero":                   func() interlockhttp.TransportOption { return interlockhttp.Backoff(0, 1) },
		"a maximum pause below the minimum": func() interlockhttp.TransportOption { return interlockhttp.Backoff(2, 1) },
		"a negative MaxReplay":              func() interlockhttp.TransportOption { return interlockhttp.MaxReplay(-1) },
		"a nil OnRetry":                     func() interlockhttp.TransportOption { return interlockhttp.OnRetry(nil) },
	} {
		t.Run("an invalid option panics: "+name, func(t *testing.T) {
			defer func() {
				if text, _ := recover().(string); !strings.HasPrefix(text, "interlockhttp: ") {
					t.Errorf("NewTransport panics with %q, want a text of this package", text)
				}
			}()
			interlockhttp.NewTransport(nil, opt())
		})
	}
}

func TestTransportBodies(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name  string
		body  string
		get   bool  // whether the request has GetBody
		long  int64 // the ContentLength of the request
		sends int   // how often it is sent
		opts  []interlockhttp.TransportOption
	}{
		{"a body with GetBody is not read ahead, however large", big + "y", true, 1<<20 + 1, 4, nil},
		{"a body is kept in memory up to 1 MiB", big, false, -1, 4, nil},
		{"a larger body is sent once", big + "y", false, -1, 1, nil},
		{"a larger body with a length is sent once", big + "y", false, 1<<20 + 1, 1, nil},
		{"MaxReplay bounds the body that is kept: within", "four", false, -1, 4, []interlockhttp.TransportOption{interlockhttp.MaxReplay(4)}},
		{"MaxReplay bounds the body that is kept: beyond", "fives", false, -1, 1, []interlockhttp.TransportOption{interlockhttp.MaxReplay(4)}},
		{"an empty body is resent, too", "", false, -1, 4, nil},
	} {
		for _, failing := range []scriptedReply{fails(errReset), respondsWith(503)} {
			inVirtualTime(c.name, t, func(t *testing.T) {
				s, body := &scriptedTransport{replies: []scriptedReply{failing}}, &plain{Reader: strings.NewReader(c.body)}
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pay.example/", body)
				req.ContentLength = c.long
				opened := 0
				var again []*plain
				if c.get {
					req.GetBody = func() (io.ReadCloser, error) {
						opened++
						again = append(again, &plain{Reader: strings.NewReader(c.body)})
						return again[len(again)-1], nil
					}
				}
				if resp, err := transport(s, c.opts...).RoundTrip(req); err == nil {
					resp.Body.Close()
				}
				s.want(t, c.sends)
				for i, request := range s.seen {
					if request.body != c.body {
						t.Errorf("try %d has %d bytes, want %d", i+1, len(request.body), len(c.body))
					}
					// net/http needs GetBody for another connection, if it wrote nothing to the first.
					if again := request.req.GetBody != nil; again != (c.sends > 1) {
						t.Errorf("try %d has GetBody: %v, want %v", i+1, again, c.sends > 1)
					}
					if n := request.req.ContentLength; c.sends > 1 && n != int64(len(c.body)) {
						t.Errorf("try %d has the Content-Length %d, want %d", i+1, n, len(c.body))
					}
				}
				if body.closed == 0 {
					t.Error("the request body was not closed")
				}
				for _, b := range again {
					if b.closed == 0 {
						t.Error("a body that GetBody returned was not closed")
					}
				}
			})
		}
	}
	inVirtualTime("a body with a length above the limit is not read ahead", t, func(t *testing.T) {
		body, passed := &plain{Reader: strings.NewReader(big + "y")}, false
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			passed = req.Body == body
			req.Body.Close()
			return respondsWith(200)(req)
		})
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pay.example/", body)
		req.ContentLength = 1<<20 + 1
		resp, err := interlockhttp.NewTransport(base).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); !passed {
			t.Error("the base transport did not get the original body")
		}
	})
	inVirtualTime("a body that cannot be read is not sent", t, func(t *testing.T) {
		s, body := &scriptedTransport{replies: []scriptedReply{respondsWith(200)}}, &plain{Reader: io.MultiReader(strings.NewReader("bo"), brokenBody{})}
		if _, err := post(t, transport(s), body); !errors.Is(err, errReset) {
			t.Errorf("the error is %v, want that of the body", err)
		}
		if s.want(t, 0); body.closed == 0 {
			t.Error("the request body was not closed")
		}
	})
	inVirtualTime("a body whose Close fails is not sent", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(200)}}
		if _, err := post(t, transport(s), failingClose{strings.NewReader("body")}); !errors.Is(err, errReset) {
			t.Errorf("the error is %v, want that of Close", err)
		}
		s.want(t, 0)
	})
	inVirtualTime("net/http detects a wrong length, and trailers have no length", t, func(t *testing.T) {
		for name, c := range map[string]struct {
			trailer http.Header
			length  int64
		}{"a length": {nil, 7}, "trailers": {http.Header{"Sum": nil}, -1}} {
			s := &scriptedTransport{replies: []scriptedReply{respondsWith(503)}}
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pay.example/", &plain{Reader: strings.NewReader("body")})
			req.ContentLength, req.Trailer = c.length, c.trailer
			resp, err := transport(s).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			for _, request := range s.seen {
				if request.req.ContentLength != c.length {
					t.Errorf("%s: the Content-Length is %d, want %d", name, request.req.ContentLength, c.length)
				}
			}
		}
	})
	inVirtualTime("a body that cannot be reopened ends the retries with the last response", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWithBody(503, "busy")}}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pay.example/", &plain{Reader: strings.NewReader("body")})
		req.GetBody = func() (io.ReadCloser, error) { return nil, errReset }
		resp, err := transport(s).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, _ := io.ReadAll(resp.Body); string(b) != "busy" {
			t.Errorf("the last response is %q, want busy", b)
		}
		s.want(t, 1)
	})
	inVirtualTime("a body reopened for a retry that is not sent is closed", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(503)}}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pay.example/", http.NoBody)
		again := &plain{Reader: strings.NewReader("body")}
		req.Body, req.GetBody = &plain{Reader: strings.NewReader("body")}, func() (io.ReadCloser, error) { return again, nil }
		ctx, cancel := contextAfter(t, time.Millisecond)
		defer cancel()
		resp, err := transport(s, interlockhttp.Backoff(time.Hour, time.Hour), interlockhttp.RetryFor(2*time.Hour)).RoundTrip(req.WithContext(ctx))
		if err == nil {
			resp.Body.Close()
		}
		if again.closed == 0 {
			t.Error("the reopened body was not closed")
		}
	})
}

func TestTransportContract(t *testing.T) {
	inVirtualTime("the caller's request is not changed", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(503)}}
		body := &plain{Reader: strings.NewReader("body")}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pay.example/", body)
		req.Header.Set("X-Idempotency-Key", "alias")
		resp, err := transport(s).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if len(req.Header) != 1 || req.Header.Get("X-Idempotency-Key") != "alias" || req.Body != body || req.GetBody != nil || req.ContentLength != 0 {
			t.Errorf("the caller's request was changed to %+v", req)
		}
		if got := inLowerCase(s.seen[3].req, "X-Idempotency-Key"); len(got) != 1 || got[0] != "alias" {
			t.Errorf("the header of the last try is %q, want the alias in it", s.seen[3].req.Header)
		}
	})
	inVirtualTime("intermediate responses are drained up to a limit, and closed", t, func(t *testing.T) {
		small, large := &plain{Reader: strings.NewReader("busy")}, &plain{Reader: strings.NewReader(strings.Repeat("x", 1<<20))}
		answers := []*plain{small, large}
		s := &scriptedTransport{replies: []scriptedReply{
			func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: small}, nil
			},
			func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: large}, nil
			},
			respondsWith(200),
		}}
		if status, err := post(t, transport(s), nil); status != 200 || err != nil {
			t.Fatalf("the response is %d, error %v; want 200", status, err)
		}
		for _, a := range answers {
			if a.closed == 0 {
				t.Error("the body of a response was not closed")
			}
		}
		if left, _ := io.Copy(io.Discard, small); left != 0 {
			t.Errorf("%d bytes of a small response were not read", left)
		}
		if left, _ := io.Copy(io.Discard, large); left < 1<<20-128<<10 {
			t.Errorf("%d bytes of a large response were not read, want nearly all", left)
		}
	})
	inVirtualTime("a stalled response delays the retry for at most two seconds", t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		s := &scriptedTransport{replies: []scriptedReply{func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: r}, nil
		}, respondsWith(200)}}
		start := time.Now()
		if status, err := post(t, transport(s, interlockhttp.Backoff(1, 1)), nil); status != 200 || err != nil {
			t.Fatalf("the response is %d, error %v; want 200", status, err)
		}
		if took := time.Since(start).Round(time.Second); took != 2*time.Second {
			t.Errorf("the request took %v, want 2s", took)
		}
	})
	inVirtualTime("many goroutines may use it at once", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(503)}}
		rt := transport(s)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { _, _ = post(t, rt, strings.NewReader("body")) })
		}
		wg.Wait()
		keys := make(map[string]int)
		for _, request := range s.seen {
			keys[request.field[0]]++
		}
		if s.want(t, 200); len(keys) != 50 {
			t.Errorf("50 requests have %d keys, want 50", len(keys))
		}
	})
	t.Run("without a RoundTripper it uses http.DefaultTransport", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		defer server.Close()
		client := &http.Client{Transport: interlockhttp.NewTransport(nil)}
		resp, err := client.Post(server.URL, "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusNotFound {
			t.Errorf("the status is %d, want 404", resp.StatusCode)
		}
	})
	t.Run("CloseIdleConnections reaches the base transport", func(t *testing.T) {
		idle := &idler{}
		(&http.Client{Transport: interlockhttp.NewTransport(idle)}).CloseIdleConnections()
		interlockhttp.NewTransport(&scriptedTransport{}).CloseIdleConnections()
		if idle.closed != 1 {
			t.Errorf("CloseIdleConnections of the base was called %d times, want once", idle.closed)
		}
	})
	inVirtualTime("a stalled body delays a request until its context ends", t, func(t *testing.T) {
		s := &scriptedTransport{replies: []scriptedReply{respondsWith(200)}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		body, _ := io.Pipe()
		if _, err := postWith(ctx, t, transport(s), body); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v, want context.DeadlineExceeded", err)
		}
		s.want(t, 0)
	})
}

// inLowerCase returns the values under the lower-case name, which net/http does not find.
func inLowerCase(req *http.Request, name string) []string { return req.Header[strings.ToLower(name)] }

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errReset }

// failingClose is a body whose Close fails.
type failingClose struct{ io.Reader }

func (failingClose) Close() error { return errReset }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

type idler struct {
	scriptedTransport
	closed int
}

func (i *idler) CloseIdleConnections() { i.closed++ }
