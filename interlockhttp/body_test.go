package interlockhttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// dial opens a connection to the shop, and sends the header of ann's order and rest.
func (s *shop) dial(rest string) net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url(), "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(exchangeTimeout))
	fmt.Fprintf(conn, "POST /orders HTTP/1.1\r\nHost: shop\r\nX-User: ann\r\nIdempotency-Key: k-1\r\n%s", rest)
	return conn
}

// readResponse reads a response.
func (s *shop) readResponse(conn net.Conn) response {
	s.t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return read(s.t, resp)
}

// chunked gives a request a body of unknown length.
func chunked(text string) edit {
	return func(r *http.Request) {
		r.Body, r.ContentLength, r.GetBody = io.NopCloser(strings.NewReader(text)), -1, nil
	}
}

func TestBody(t *testing.T) {
	t.Run("a body that is too large is refused before it is read", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.MaxBody(10))
		conn := s.dial("Content-Length: 1000000\r\n\r\n")
		s.readResponse(conn).problem(413, interlockhttp.BodyTooLarge)
		s.post("k-1", strings.Repeat("x", 11)).problem(413, interlockhttp.BodyTooLarge)
		s.ran(0)
		s.post("k-1", strings.Repeat("x", 10)).is(201, "order 1 of xxxxxxxxxx")
	})
	t.Run("a chunked body is refused when it becomes too large", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.MaxBody(10))
		s.post("k-1", "", chunked(strings.Repeat("x", 11))).problem(413, interlockhttp.BodyTooLarge)
		s.post("k-1", "", chunked(strings.Repeat("x", 1<<20))).problem(413, interlockhttp.BodyTooLarge)
		s.ran(0)
		s.post("k-1", "", chunked(strings.Repeat("x", 10))).is(201, "order 1 of xxxxxxxxxx")
	})
	t.Run("a limit of an outer middleware is reported as too large", func(t *testing.T) {
		s := open(t, kept, nil)
		inner := s.mux
		s.mux = http.NewServeMux()
		s.mux.Handle("/", http.MaxBytesHandler(inner, 10))
		s.post("k-1", "", chunked(strings.Repeat("x", 11))).problem(413, interlockhttp.BodyTooLarge)
		s.ran(0)
	})
	t.Run("a multipart body with too many parts is hashed as a whole", func(t *testing.T) {
		s := open(t, kept, nil)
		parts := func(boundary string) edit {
			return body(strings.Repeat("--"+boundary+"\r\n\r\n\r\n", 10_001)+"--"+boundary+"--\r\n", "multipart/form-data; boundary="+boundary)
		}
		s.serve("k-1", "", parts("a"))
		s.serve("k-1", "", parts("b")).problem(422, interlockhttp.KeyReused)
		s = open(t, kept, nil, interlockhttp.Key(interlockhttp.FormField("id")))
		s.serve("", "", parts("a")).problem(400, interlockhttp.KeyInvalid)
	})
	t.Run("a large body reaches the handler whole", func(t *testing.T) {
		text := strings.Repeat("0123456789", 100_000)
		s := open(t, kept, nil)
		first := s.post("k-1", text).is(201, "order 1 of "+text)
		s.post("k-1", "", chunked(text)).replays(first) // the same content
		s.post("k-1", text[:len(text)-1]+"X").problem(422, interlockhttp.KeyReused)
	})
	t.Run("a truncated body claims nothing", func(t *testing.T) {
		for name, head := range map[string]string{
			"with a length": "Content-Length: 10\r\n\r\nhalf",
			"in chunks":     "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
		} {
			s := open(t, kept, nil)
			conn := s.dial(head)
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			s.readResponse(conn).problem(400, interlockhttp.BodyBroken)
			s.ran(0)
			if n := s.once.Guard().Stats().Verdicts[guard.Granted]; n > 0 {
				t.Errorf("%s: a request with a truncated body claimed the key", name)
			}
			s.post("k-1", "x").is(201, "order 1 of x")
		}
	})
	t.Run("a body that an outer decompressor truncates is not accepted", func(t *testing.T) {
		s := open(t, kept, nil)
		cut := iotest.ErrReader(fmt.Errorf("unpacking: %w", io.EOF)) // only an unwrapped io.EOF is the end of a body
		s.serve("k-1", "", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader("half"), cut)), -1
		}).problem(400, interlockhttp.BodyBroken)
		s.ran(0)
		s.serve("k-1", "whole").is(201, "order 1 of whole")
	})
	t.Run("a body with malformed chunks is refused", func(t *testing.T) {
		s := open(t, kept, nil)
		s.readResponse(s.dial("Transfer-Encoding: chunked\r\n\r\nzz\r\n")).problem(400, interlockhttp.BodyBroken)
		s.ran(0)
	})
	t.Run("a slow body is refused after BodyTimeout", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.BodyTimeout(50*time.Millisecond))
		for _, head := range []string{"Content-Length: 10\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", "Content-Length: 10\r\n\r\n"} {
			start := time.Now()
			p := s.readResponse(s.dial(head)).problem(408, interlockhttp.BodyLate)
			if took := time.Since(start); took > exchangeTimeout/2 || !p.Retryable || !p.SameKey {
				t.Errorf("after %v the problem is %+v, want body_late soon, retryable with the same key", took, p)
			}
		}
		s.ran(0)
		s.post("k-1", "x").is(201, "order 1 of x")
	})
	t.Run("a body received in time leaves no deadline behind", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.BodyTimeout(50*time.Millisecond))
		conn := s.dial("Content-Length: 1\r\n\r\nx")
		s.readResponse(conn).is(201, "order 1 of x")
		<-time.After(100 * time.Millisecond)
		fmt.Fprint(conn, "POST /orders HTTP/1.1\r\nHost: shop\r\nX-User: ann\r\nIdempotency-Key: k-2\r\nContent-Length: 1\r\n\r\nx")
		s.readResponse(conn).is(201, "order 2 of x")
	})
	t.Run("Shadow sets no deadline for the body", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.BodyTimeout(time.Millisecond), interlockhttp.Shadow(func(r interlockhttp.Shadowed) {
			t.Errorf("the shadow reported %+v, want nothing", r)
		}))
		conn := s.dial("Content-Length: 8\r\n\r\nhalf")
		<-time.After(50 * time.Millisecond)
		fmt.Fprint(conn, "half")
		s.readResponse(conn).is(201, "order 1 of halfhalf")
	})
	t.Run("Expect: 100-continue is answered once", func(t *testing.T) {
		s := open(t, kept, nil)
		conn := s.dial("Expect: 100-continue\r\nContent-Length: 1\r\n\r\n")
		br := bufio.NewReader(conn)
		for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
			if line, err := br.ReadString('\n'); line != want {
				t.Fatalf("the server sends %q, error %v; want %q", line, err, want)
			}
		}
		fmt.Fprint(conn, "x")
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp).is(201, "order 1 of x")
	})
	t.Run("Expect: 100-continue is refused for a body that is too large", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.MaxBody(10))
		s.readResponse(s.dial("Expect: 100-continue\r\nContent-Length: 11\r\n\r\n")).problem(413, interlockhttp.BodyTooLarge)
	})
	t.Run("a request without a body stays without one", func(t *testing.T) {
		s := open(t, kept, nil)
		first := s.readResponse(s.dial("\r\n")).is(201, "order 1 of ")
		s.readResponse(s.dial("Content-Length: 0\r\n\r\n")).replays(first)
		s.readResponse(s.dial("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")).replays(first)
	})
	t.Run("the handler sees the length of the body, and has no GetBody", func(t *testing.T) {
		s := open(t, kept, func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if r.ContentLength != int64(len(text)) || r.TransferEncoding != nil || r.GetBody != nil || err != nil || r.Body.Close() != nil {
				t.Errorf("the handler reads %d bytes, error %v, with ContentLength %d, TransferEncoding %v, GetBody: %v", len(text), err, r.ContentLength, r.TransferEncoding, r.GetBody != nil)
			}
			if n, err := r.Body.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("after the end, Read() = %d, %v; want 0 and an error", n, err)
			}
			_, _ = w.Write(text)
		})
		s.post("k-1", "hello").is(200, "hello")
		s.post("k-2", "", chunked("hello")).is(200, "hello")
		s.post("k-3", "").is(200, "")
		s.serve("k-4", "hello", func(r *http.Request) {
			r.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil }
		}).is(200, "hello")
	})
	t.Run("Fingerprint may read the body, and the handler still gets it", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.Fingerprint(func(r *http.Request, _ []byte) []byte {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			return text
		}))
		first := s.post("k-1", "hello").is(201, "order 1 of hello")
		s.post("k-1", "hello").replays(first)
		s.post("k-1", "hullo").problem(422, interlockhttp.KeyReused)
	})
	t.Run("without a key the body still reaches the handler", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.Optional(), interlockhttp.Key(interlockhttp.JSONField("id")))
		s.post("", `{"n":1}`).is(201, `order 1 of {"n":1}`)
		s.post("", "", chunked(`{"n":1}`)).is(201, `order 2 of {"n":1}`)
	})
}

func TestFormFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	files := func() int {
		found, err := filepath.Glob(filepath.Join(dir, "multipart-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	s := open(t, kept, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(0); err != nil {
			t.Error(err)
		}
		if files() == 0 {
			t.Error("the form has no temporary file, so the test proves nothing")
		}
		f, _, err := r.FormFile("scan")
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		_, _ = io.Copy(w, f)
	}, interlockhttp.MaxBody(32<<20))
	large := strings.Repeat("PNG", 4<<20) // more than ParseMultipartForm(0) keeps in memory
	if a := s.post("k-1", "", uploads("a.png", large)); a.status != 200 || len(a.body) != len(large) {
		t.Errorf("the response is %d with %d bytes, want 200 with %d", a.status, len(a.body), len(large))
	}
	s.server.Close() // waits until the request has ended
	s.server = nil
	if n := files(); n > 0 {
		t.Errorf("%d temporary files are left, want none", n)
	}
}
