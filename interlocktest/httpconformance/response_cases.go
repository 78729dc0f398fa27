package httpconformance

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
)

var responseCases = []testCase{
	{"a response that is too long is sent and not kept", func(s *suite) {
		text := strings.Repeat("x", 10_000)
		s.serve("/orders", func(x Exchange) error { return x.Send(http.StatusOK, text) }, s.once(charge, interlockhttp.MaxResponse(1000)))
		first := s.send(keyed("k1"))
		if first.err != nil || first.body != text || first.header.Get("Idempotency-Stored") != "false" {
			s.Errorf("got %d, %d bytes, %v (%v)", first.status, len(first.body), first.header, first.err)
		}
		s.wantStatus("the repeat", s.send(keyed("k1")), http.StatusConflict, interlockhttp.ResultUnavailable)
		s.wantRuns(1)
	}},
	{"a streamed response is sent at once and not kept", func(s *suite) {
		g := newGate(s)
		s.serve("/orders", func(x Exchange) error {
			return x.Stream(func(send func(string) error) error {
				if err := send("first "); err != nil {
					return err
				}
				g.pass()
				return send("second")
			})
		}, s.once(charge))
		r, err := http.NewRequestWithContext(s.deadline(), http.MethodPost, s.url+"/orders", nil)
		s.check(err)
		r.Header.Set("Idempotency-Key", "k1")
		r.Header.Set(FieldUser, "ann")
		resp, err := s.transport.RoundTrip(r)
		s.check(err)
		defer resp.Body.Close() //nolint:errcheck // it was read
		piece := make([]byte, len("first "))
		_, err = io.ReadFull(resp.Body, piece)
		s.check(err)
		receive(s, g.entered, "the handler")
		g.release()
		rest, err := io.ReadAll(resp.Body)
		if err != nil || string(piece)+string(rest) != "first second" || resp.Header.Get("Idempotency-Stored") != "false" {
			s.Errorf("got %q and %q, %v (%v)", piece, rest, resp.Header, err)
		}
		s.afterwards("the repeat", keyed("k1"), http.StatusConflict, interlockhttp.ResultUnavailable)
		s.wantRuns(1)
	}},
	{"trailers are replayed", func(s *suite) {
		s.serve("/orders", func(x Exchange) error { return x.SendTrailer("body", "X-Sum", "42") }, s.once(charge))
		first := s.send(keyed("k1"))
		again := s.send(keyed("k1"))
		s.wantReplay(first, again)
		for _, r := range []reply{first, again} {
			if r.trailer.Get("X-Sum") != "42" || r.body != "body" {
				s.Errorf("got %q with the trailer %v", r.body, r.trailer)
			}
		}
		s.wantRuns(1)
	}},
	{"a 204 and a 304 are replayed without a body", func(s *suite) {
		for _, status := range []int{http.StatusNoContent, http.StatusNotModified} {
			s.serve("/orders", func(x Exchange) error {
				x.SetHeader("ETag", `"v1"`)
				return x.Send(status, "")
			}, s.once(charge))
			key := fmt.Sprint("key-", status)
			first, again := s.send(keyed(key)), s.send(keyed(key))
			s.wantReplay(first, again)
			if first.status != status || first.body != "" || again.body != "" || again.header.Get("ETag") != `"v1"` {
				s.Errorf("got %d %q and %q %v", first.status, first.body, again.body, again.header)
			}
		}
		s.wantRuns(2)
	}},
	{"HEAD gets the header alone", func(s *suite) {
		handle := func(x Exchange) error { return x.Send(http.StatusOK, "body") }
		s.serveRoutes(Route{Method: http.MethodHead, Path: "/orders", Wraps: []func(http.Handler) http.Handler{s.limit(1)}, Handle: handle})
		head := call{method: http.MethodHead}
		if r := s.send(head); r.err != nil || r.status != http.StatusOK || r.body != "" || r.header.Get("RateLimit") == "" {
			s.Errorf("got %d %q %v (%v)", r.status, r.body, r.header, r.err)
		}
		if r := s.send(head); r.err != nil || r.status != http.StatusTooManyRequests || r.body != "" {
			s.Errorf("over the limit: got %d %q (%v)", r.status, r.body, r.err)
		}
		s.wantRuns(1)
	}},
	{"a response is the same as without the guard", func(s *suite) {
		handle := func(x Exchange) error {
			body, err := x.Body()
			if err != nil {
				return err
			}
			status, text, _ := strings.Cut(body, " ")
			n, err := strconv.Atoi(status)
			if err != nil {
				return err
			}
			x.SetHeader("X-Id", "1")
			return x.Send(n, text)
		}
		s.serveRoutes(
			Route{Method: http.MethodPost, Path: "/bare", Handle: handle},
			Route{Method: http.MethodPost, Path: "/orders", Wraps: []func(http.Handler) http.Handler{s.once(charge)}, Handle: handle},
			Route{Method: http.MethodPost, Path: "/locked/:id", Wraps: []func(http.Handler) http.Handler{s.lock()}, Handle: handle})
		for i, body := range []string{"200 plain", "200 <b>html</b>", `201 {"json":1}`, "200 ", "202 ", "204 ", "304 ", "400 no", "404 ", "500 <i>oops</i>"} {
			bare := s.send(call{path: "/bare", body: body})
			for what, c := range map[string]call{
				"with a lock": {path: "/locked/7", body: body},
				"first":       {body: body, header: []string{"Idempotency-Key", fmt.Sprint("k", i)}},
				"again":       {body: body, header: []string{"Idempotency-Key", fmt.Sprint("k", i)}},
			} {
				got := s.send(c)
				if got.err != nil || got.status != bare.status || got.body != bare.body {
					s.Errorf("%q %s: got %d %q (%v), want %d %q", body, what, got.status, got.body, got.err, bare.status, bare.body)
				}
				for _, name := range []string{"Content-Type", "Content-Length", "X-Id"} {
					if fmt.Sprint(got.header[name]) != fmt.Sprint(bare.header[name]) {
						s.Errorf("%q %s: %s: got %q, want %q", body, what, name, got.header[name], bare.header[name])
					}
				}
			}
		}
	}},
	{"an empty response is replayed", func(s *suite) {
		s.serve("/orders", func(x Exchange) error { return x.Send(http.StatusOK, "") }, s.once(charge))
		first := s.send(keyed("k1"))
		s.wantStatus("first", first, http.StatusOK, "")
		s.wantReplay(first, s.send(keyed("k1")))
		s.wantRuns(1)
	}},
	{"an upgraded connection is not kept", func(s *suite) {
		s.serve("/orders", func(x Exchange) error {
			return x.Upgrade("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello\n")
		}, s.once(charge))
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		s.check(err)
		defer conn.Close()
		s.check(conn.SetDeadline(time.Now().Add(patience)))
		fmt.Fprintf(conn, "POST /orders HTTP/1.1\r\nHost: shop\r\n%s: ann\r\nIdempotency-Key: k1\r\nConnection: Upgrade\r\nUpgrade: echo\r\nContent-Length: 0\r\n\r\n", FieldUser)
		text := bufio.NewReader(conn)
		status, err := text.ReadString('\n')
		if err != nil || !strings.HasPrefix(status, "HTTP/1.1 101 ") {
			s.Fatalf("got %q (%v)", status, err)
		}
		for line := ""; err == nil && line != "hello\n"; {
			line, err = text.ReadString('\n')
		}
		s.check(err)
		s.afterwards("the repeat", keyed("k1"), http.StatusConflict, interlockhttp.ResultUnavailable)
		s.wantRuns(1)
	}},
}

// deadline returns a context that bounds one request.
func (s *suite) deadline() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.Cleanup(cancel)
	return ctx
}

// afterwards sends a request until the one before it has been settled, and checks the reply.
func (s *suite) afterwards(what string, c call, status int, code interlockhttp.Code) {
	s.Helper()
	for {
		r := s.send(c)
		if r.err == nil && r.status == http.StatusConflict && strings.Contains(r.body, string(interlockhttp.InProgress)) {
			continue
		}
		s.wantStatus(what, r, status, code)
		return
	}
}

var requestCases = []testCase{
	{"a large body arrives whole", func(s *suite) {
		text := strings.Repeat("0123456789", 90_000)
		s.serve("/orders", func(x Exchange) error {
			body, err := x.Body()
			if err != nil {
				return err
			}
			return x.Send(http.StatusOK, fmt.Sprint(len(body), body == text))
		}, s.once(charge))
		c := keyed("k1")
		c.body = text
		first := s.send(c)
		if first.body != "900000 true" {
			s.Errorf("got %d %q (%v)", first.status, first.body, first.err)
		}
		s.wantReplay(first, s.send(c))
		s.wantRuns(1)
	}},
	{"a body that is too large is refused", func(s *suite) {
		s.serve("/orders", s.created, s.once(charge, interlockhttp.MaxBody(1000)))
		c := keyed("k1")
		c.body = strings.Repeat("x", 2000)
		s.wantStatus("the request", s.send(c), http.StatusRequestEntityTooLarge, interlockhttp.BodyTooLarge)
		s.wantRuns(0)
	}},
	{"a body in chunks arrives whole", func(s *suite) {
		s.serve("/orders", s.created, s.once(charge))
		request := func() call {
			c := keyed("k1")
			c.reader = io.MultiReader(strings.NewReader("one "), strings.NewReader("two")) // of unknown length
			return c
		}
		first := s.send(request())
		if first.body != "order one two" {
			s.Errorf("got %d %q (%v)", first.status, first.body, first.err)
		}
		s.wantReplay(first, s.send(request()))
		s.wantRuns(1)
	}},
	{"a key in the JSON body is found, and the handler gets the body", func(s *suite) {
		s.serve("/orders", s.created, s.once(charge, interlockhttp.Key(interlockhttp.JSONField("order.id"))))
		c := call{header: []string{"Content-Type", "application/json"}, body: `{"order": {"id": "o-1"}}`}
		first := s.send(c)
		s.wantStatus("first", first, http.StatusCreated, "o-1")
		s.wantReplay(first, s.send(c))
		s.wantRuns(1)
	}},
	{"the temporary files of an upload are removed", func(s *suite) {
		dir := s.TempDir()
		s.Setenv("TMPDIR", dir)
		const size = 40 << 20 // frameworks keep up to 32 MiB in memory
		s.serve("/orders/:id", func(x Exchange) error {
			n, err := x.File("scan")
			if err != nil {
				return err
			}
			return x.Send(http.StatusOK, fmt.Sprint(n))
		}, s.lock())
		var form bytes.Buffer
		parts := multipart.NewWriter(&form)
		part, err := parts.CreateFormFile("scan", "scan.pdf")
		s.check(err)
		_, err = io.CopyN(part, zeros{}, size)
		s.check(err)
		s.check(parts.Close())
		r := s.send(call{path: "/orders/7", header: []string{"Content-Type", parts.FormDataContentType()}, reader: &form})
		s.wantStatus("the upload", r, http.StatusOK, "")
		if r.body != fmt.Sprint(size) {
			s.Errorf("got %q", r.body)
		}
		for start := time.Now(); ; { // the server removes them after the response
			files, err := os.ReadDir(dir)
			s.check(err)
			if len(files) == 0 {
				return
			}
			if time.Since(start) > patience {
				s.Fatalf("%d files are left", len(files))
			}
			time.Sleep(time.Millisecond)
		}
	}},
	{"a form with files is repeated", func(s *suite) {
		var form bytes.Buffer
		parts := multipart.NewWriter(&form)
		for i := range 8 { // in an order that a map does not keep
			s.check(parts.WriteField(fmt.Sprint("field", i), fmt.Sprint(i)))
			part, err := parts.CreateFormFile(fmt.Sprint("file", i), "scan.pdf")
			s.check(err)
			_, err = fmt.Fprint(part, "content ", i)
			s.check(err)
		}
		s.check(parts.Close())
		s.serve("/orders", func(x Exchange) error {
			size, err := x.File("file3")
			if err != nil {
				return err
			}
			return x.Send(http.StatusOK, fmt.Sprint(size))
		}, s.once(charge))
		c := keyed("k1", "Content-Type", parts.FormDataContentType())
		c.body = form.String()
		first := s.send(c)
		if first.body != fmt.Sprint(len("content 3")) {
			s.Errorf("got %d %q (%v)", first.status, first.body, first.err)
		}
		for range 5 {
			s.wantReplay(first, s.send(c))
		}
		s.wantRuns(1)
		c.body = strings.Replace(c.body, "content 5", "another 5", 1)
		s.wantStatus("another file", s.send(c), http.StatusUnprocessableEntity, interlockhttp.KeyReused)
	}},
	{"the query is a part of the request", func(s *suite) {
		s.serve("/orders", s.created, s.once(charge))
		one, two := keyed("k1"), keyed("k1")
		one.path, two.path = "/orders?currency=eur", "/orders?currency=usd"
		s.wantStatus("one", s.send(one), http.StatusCreated, "")
		s.wantStatus("two", s.send(two), http.StatusUnprocessableEntity, interlockhttp.KeyReused)
	}},
}

// zeros is an endless file.
type zeros struct{}

// Read implements [io.Reader].
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
