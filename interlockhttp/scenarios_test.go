package interlockhttp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing/iotest"
	"time"
)

// A repeatOutcome is what a repeat gets.
type repeatOutcome int

const (
	same    repeatOutcome = iota // the same response
	gone                         // the problem result_unavailable
	unknown                      // the problem outcome_unknown
	anew                         // a new response: the handler runs again
)

// A scenario is a handler and its expected behaviour.
type scenario struct {
	name    string
	handler func(w http.ResponseWriter, r *http.Request, saw func(...any))

	// The response to a repeat, by default and with Tee.
	strictly, teed repeatOutcome

	// Prefixes of fields that only the first client gets.
	private []string

	// adjust changes the expected response where it differs from that of net/http.
	adjust func(w mode, want *reply)

	// A trailer that a replay has, and the first response under Tee has not: net/http had
	// already announced a length.
	lateTrailer []string

	// Why the scenario does not run over HTTP/2; empty if it does.
	notForH2 string
}

var (
	medium = strings.Repeat("0123456789abcdef", 256)       // more than net/http buffers
	long   = strings.Repeat("0123456789abcdef", maxKept/8) // twice the limit of the server
)

const rawConnection = "HTTP/2 connections cannot be hijacked"

var scenarios = slices.Concat(plainActs, lengthActs, typeActs, flushActs, trailerActs, fieldActs, connectionActs, panicActs)

var plainActs = []scenario{
	{name: "an empty handler", handler: func(http.ResponseWriter, *http.Request, func(...any)) {}},
	{name: "a header without a write", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Location", "/orders/1")
	}},
	{name: "a status without a write", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Location", "/orders/1")
		w.WriteHeader(http.StatusAccepted)
	}},
	{name: "several writes", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.WriteHeader(http.StatusCreated)
		for _, text := range []string{"one ", "", "two ", "three"} {
			saw(w.Write([]byte(text)))
			saw(io.WriteString(w, text))
		}
	}},
	{name: "an empty write, which sets the status", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		saw(w.Write(nil))
		w.WriteHeader(http.StatusAccepted)
	}},
	{name: "reading the request body", handler: func(w http.ResponseWriter, r *http.Request, saw func(...any)) {
		saw(io.Copy(w, r.Body))
		saw(r.ContentLength, r.TransferEncoding, r.GetBody == nil)
	}},
	{name: "two statuses", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.WriteHeader(http.StatusCreated)
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(7) // ignored
	}},
	{name: "a header changed after the status", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		h := w.Header()
		h.Set("X-Set", "then")
		h.Set("X-Deleted", "then")
		h["X-Written"] = []string{"then"}
		w.WriteHeader(http.StatusCreated)
		h.Set("X-Set", "now")
		h.Set("X-New", "now")
		h.Del("X-Deleted")
		h["X-Written"][0] = "now"
		fmt.Fprint(w, "created")
	}},
	{name: "early hints", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-Final", "yes")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "created")
	}},
	{name: "all informational statuses", notForH2: "only the server sends 100", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		for status := 100; status < 200; status++ {
			if status != http.StatusSwitchingProtocols {
				w.WriteHeader(status)
			}
		}
		fmt.Fprint(w, "at last")
	}},
	{name: "early hints after the status", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.WriteHeader(http.StatusCreated)
		w.WriteHeader(http.StatusEarlyHints)
	}},
	{name: "204 with a body", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.WriteHeader(http.StatusNoContent)
		saw(w.Write([]byte("no")))
		saw(io.WriteString(w, "no"))
		saw(io.Copy(w, strings.NewReader("no")))
	}},
	{name: "304", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Etag", `"1"`)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", "5")
		w.WriteHeader(http.StatusNotModified)
		saw(w.Write([]byte("no")))
	}},
	{name: "a redirect", handler: func(w http.ResponseWriter, r *http.Request, _ func(...any)) {
		http.Redirect(w, r, "/orders/1", http.StatusSeeOther)
	}},
	{name: "a client error", strictly: anew, teed: anew, handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		http.Error(w, "no", http.StatusBadRequest)
	}},
	{name: "a server error", strictly: unknown, teed: unknown, handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		http.Error(w, "no", http.StatusBadGateway)
	}},
	{name: "a body above the limit in one write", strictly: gone, teed: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		saw(io.WriteString(w, long))
	}},
	{name: "a body above the limit in several writes", strictly: gone, teed: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Location", "/orders/1")
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-Late", "yes")
		for part := range slices.Chunk([]byte(long), 1000) {
			saw(w.Write(part))
		}
	}},
	{name: "a body of exactly the limit", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		saw(io.WriteString(w, long[:maxKept]))
	}},
	{name: "a copy from a file", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		f, err := os.Open("testdata/fuzz/FuzzProblemRead/usual")
		saw(err)
		defer f.Close()
		saw(io.Copy(w, f))
	}},
	{name: "a copy from a file above the limit", strictly: gone, teed: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		f, err := os.Open("../LICENSE")
		saw(err)
		defer f.Close()
		saw(io.Copy(w, f))
	}},
	{name: "an empty copy and a status", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		saw(io.Copy(w, struct{ io.Reader }{strings.NewReader("")}))
		w.WriteHeader(http.StatusCreated)
	}},
	{name: "a copy from a failing reader", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		saw(io.Copy(w, io.MultiReader(strings.NewReader(medium), iotest.ErrReader(errors.New("broken off")))))
	}},
	{name: "a copy in two parts", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.WriteHeader(http.StatusCreated)
		saw(io.CopyN(w, strings.NewReader(medium), 700))
		saw(io.Copy(w, struct{ io.Reader }{strings.NewReader(medium)}))
	}},
	{name: "http.ServeContent", handler: func(w http.ResponseWriter, r *http.Request, _ func(...any)) {
		http.ServeContent(w, r, "a.txt", time.Unix(1e9, 0), strings.NewReader(medium))
	}},
}

var lengthActs = []scenario{
	{name: "a correct length", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Content-Length", "5")
		saw(w.Write([]byte("12345")))
		saw(w.Write(nil))
	}},
	{name: "a length that is exceeded", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Content-Length", "5")
		saw(w.Write([]byte("12345")))
		saw(w.Write([]byte("6")))
	}, adjust: func(w mode, want *reply) {
		// In strict mode net/http does not see the write that exceeds the length, so it
		// keeps the connection open.
		if w == strict {
			want.open = true
		}
	}, notForH2: "HTTP/2 has an error of its own for that"},
	{name: "a length that is exceeded at once", strictly: gone, teed: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Content-Length", "5")
		saw(w.Write([]byte("123456")))
		saw(w.Write([]byte("12345"))) // would fit, but refused bytes count
		saw(io.Copy(w, strings.NewReader("1")))
	}, notForH2: "HTTP/2 has an error of its own for that"},
	{name: "a length that is not reached", strictly: gone, teed: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Content-Length", "5")
		saw(w.Write([]byte("123")))
	}},
	{name: "a length of zero", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Content-Length", "0")
		saw(w.Write([]byte("1")))
	}, adjust: func(w mode, want *reply) {
		if w == strict { // as above
			want.open = true
		}
	}, notForH2: "HTTP/2 has an error of its own for that"},
	{name: "a malformed length", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Content-Length", " 5")
		saw(w.Write([]byte("1234567")))
	}},
	{name: "a length without a body, for 204", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Content-Length", "5")
		w.WriteHeader(http.StatusNoContent)
	}},
	{name: "a custom transfer coding", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Transfer-Encoding", "identity")
		saw(w.Write([]byte("<html>until the end")))
	}, notForH2: "HTTP/2 has no transfer codings"},
	{name: "explicit chunked coding", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Transfer-Encoding", "chunked")
		w.Header().Set("Content-Type", "text/plain")
		saw(w.Write([]byte("in chunks")))
	}, notForH2: "HTTP/2 has no transfer codings"},
}

var typeActs = []scenario{
	{name: "a type detected in text", handler: writes("plain text")},
	{name: "a type detected in HTML", handler: writes("<!doctype html><title>x</title>")},
	{name: "a type detected in a long body", handler: writes("\x89PNG\x0d\x0a\x1a\x0a" + medium)},
	{name: "a type detected in several writes", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		for _, text := range []string{"<", "html", ">"} {
			fmt.Fprint(w, text)
		}
	}},
	{name: "no type because the handler set nil", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header()["Content-Type"] = nil
		fmt.Fprint(w, "<html>")
	}},
	{name: "an empty type", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Content-Type", "")
		fmt.Fprint(w, "<html>")
	}},
	{name: "no type because the body is compressed", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Content-Encoding", "br")
		fmt.Fprint(w, "<html>")
	}},
	{name: "a type despite an empty Content-Encoding", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Content-Encoding", "")
		fmt.Fprint(w, "<html>")
	}},
}

var flushActs = []scenario{
	{name: "a flush before the first write", strictly: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		saw(http.NewResponseController(w).Flush())
		w.Header().Set("X-Late", "yes")
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "<html>")
	}},
	{name: "a flush between writes", strictly: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-Late", "yes")
		for _, text := range []string{"<", "html", ">"} {
			saw(w.Write([]byte(text)))
			w.(http.Flusher).Flush()
		}
	}},
	{name: "a flush after the last write", strictly: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		fmt.Fprint(w, "<html>")
		saw(http.NewResponseController(w).Flush())
	}},
	{name: "a flush of 204", strictly: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.WriteHeader(http.StatusNoContent)
		saw(http.NewResponseController(w).Flush())
	}},
	{name: "a flush of a client error", strictly: anew, teed: anew, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.WriteHeader(http.StatusConflict)
		saw(http.NewResponseController(w).Flush())
	}},
	{name: "a flush and a copy", strictly: gone, teed: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		saw(http.NewResponseController(w).Flush())
		saw(io.Copy(w, strings.NewReader(long)))
		saw(io.Copy(w, struct{ io.Reader }{strings.NewReader(long)}))
		saw(io.WriteString(w, "end"))
	}},
}

var trailerActs = []scenario{
	{name: "an announced trailer", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Trailer", "x-sum, X-Unused")
		w.Header().Add("Trailer", "X-More")
		fmt.Fprint(w, "body")
		w.Header().Set("X-Sum", "42")
		w.Header()["X-More"] = []string{"1", "2"}
		w.Header().Set("X-Other", "not a trailer")
	}},
	{name: "an unannounced trailer", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		fmt.Fprint(w, medium) // long enough for chunks: after a body with a length there is no trailer
		w.Header().Set(http.TrailerPrefix+"X-Sum", "42")
	}},
	{name: "an unannounced trailer of a short response", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		fmt.Fprint(w, "body")
		w.Header().Set(http.TrailerPrefix+"X-Sum", "42")
	}, adjust: func(w mode, want *reply) {
		// net/http has announced a length before the trailer is set. In strict mode nothing
		// has been sent yet, so the trailer is sent.
		if w == strict && want.framing == "length" {
			want.framing, want.trailer = "chunks", []string{"X-Sum: 42"}
		}
	}, lateTrailer: []string{"X-Sum: 42"}},
	{name: "a trailer set before the body", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set(http.TrailerPrefix+"X-Sum", "41")
		fmt.Fprint(w, "body")
		w.Header().Set(http.TrailerPrefix+"X-Sum", "42")
	}},
	{name: "trailers of both kinds", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("X-Sum", "both before and after")
		fmt.Fprint(w, "body")
		w.Header().Set("X-Sum", "42")
		w.Header().Set(http.TrailerPrefix+"X-Time", "7")
	}},
	{name: "trailers and a flush", strictly: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Trailer", "X-Before, X-After")
		fmt.Fprint(w, "body")
		w.Header().Set("X-Before", "1")
		w.Header().Set(http.TrailerPrefix+"X-Time", "7")
		saw(http.NewResponseController(w).Flush())
		w.Header().Set("X-After", "2")
	}},
	{name: "trailers of a body above the limit", strictly: gone, teed: gone, handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Trailer", "X-Before, X-After")
		fmt.Fprint(w, "body")
		w.Header().Set("X-Before", "1")
		fmt.Fprint(w, long)
		w.Header().Set("X-After", "2")
	}},
	{name: "a trailer of an empty body", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-Sum", "0")
	}},
}

var fieldActs = []scenario{
	{name: "fields for the first client only", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		h := w.Header()
		h.Add("Set-Cookie", "session=1")
		h.Add("Set-Cookie", "theme=dark")
		h.Set("WWW-Authenticate", "Basic")
		h.Set("X-Request-Id", "r-1")
		h.Set("RateLimit-Remaining", "7")
		h.Set("Server", "shop")
		h.Set("X-Kept", "yes")
	}, private: []string{"Set-Cookie:", "Www-Authenticate:", "X-Request-Id:", "Ratelimit-Remaining:", "Server:"}},
	{name: "fields with several values", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header()["Link"] = []string{"</a>; rel=next", "</b>; rel=prev", ""}
		w.Header()["X-None"] = []string{}
	}},
	{name: "fields with non-canonical names", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header()["set-cookie"] = []string{"session=1"}
		w.Header()["x-odd"] = []string{"1"}
		w.Header()["X-ODD"] = []string{"2"}
	}, private: []string{"Set-Cookie:"}, notForH2: "HTTP/2 header names have one form"},
	{name: "invalid fields", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("X-Lines", "a\r\nX-Injected: b")
		w.Header()["no field"] = []string{"x"}
	}},
	{name: "more fields than the buffer holds", handler: fields(9)},
	{name: "very many fields", handler: fields(300)},
	{name: "connection: close", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, "bye")
	}},
	{name: "a Date set by the handler", handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header()["Date"] = nil
		fmt.Fprint(w, "when?")
	}},
}

var connectionActs = []scenario{
	{name: "a hijacked connection", strictly: gone, teed: gone, handler: hijacks(func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
		return w.(http.Hijacker).Hijack()
	}), notForH2: rawConnection},
	{name: "a connection hijacked through the controller", strictly: gone, teed: gone, handler: hijacks(func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
		return http.NewResponseController(w).Hijack()
	}), notForH2: rawConnection},
	{name: "a connection hijacked after the header", strictly: gone, teed: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Content-Length", "8")
		w.WriteHeader(http.StatusCreated)
		conn, _, err := http.NewResponseController(w).Hijack()
		saw(err)
		defer conn.Close()
		fmt.Fprint(conn, "hijacked")
	}, notForH2: rawConnection},
	{name: "a protocol switch", strictly: gone, teed: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		saw(w.Write([]byte("no")))
		conn, _, err := http.NewResponseController(w).Hijack()
		saw(err)
		defer conn.Close()
		fmt.Fprint(conn, "in another protocol")
	}, notForH2: rawConnection},
	{name: "a protocol switch without data", strictly: gone, teed: gone, handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "silence")
		w.WriteHeader(http.StatusSwitchingProtocols)
	}, notForH2: rawConnection},
	{name: "unwrapping the writer", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		_, ok := w.(interface{ Unwrap() http.ResponseWriter })
		saw(ok) // writes to an unwrapped writer would not be kept
		fmt.Fprint(w, "seen")
	}},
	{name: "deadlines and full duplex", handler: func(w http.ResponseWriter, r *http.Request, saw func(...any)) {
		_, _ = io.ReadAll(r.Body)
		c := http.NewResponseController(w)
		saw(c.SetReadDeadline(time.Now().Add(time.Hour)), c.SetWriteDeadline(time.Now().Add(time.Hour)))
		saw(c.EnableFullDuplex())
		fmt.Fprint(w, "in time")
	}},
	{name: "a read deadline only", handler: func(w http.ResponseWriter, r *http.Request, saw func(...any)) {
		_, _ = io.ReadAll(r.Body)
		saw(http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)))
		fmt.Fprint(w, "in time")
	}, notForH2: "HTTP/2 decides about the rest of the connection"},
	{name: "a flush after a deadline", strictly: gone, teed: gone, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		c := http.NewResponseController(w)
		saw(c.SetWriteDeadline(time.Unix(1, 0)))
		fmt.Fprint(w, "too late")
		saw(errors.Is(c.Flush(), os.ErrDeadlineExceeded))
	}, notForH2: "HTTP/2 decides about the rest of the connection"},
}

var panicActs = []scenario{
	{name: "a panic before the first write", strictly: unknown, teed: unknown, handler: func(http.ResponseWriter, *http.Request, func(...any)) {
		panic("before")
	}},
	{name: "a panic after a write", strictly: unknown, teed: unknown, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		saw(io.WriteString(w, "half"))
		panic("after")
	}},
	{name: "a panic after a flush", strictly: unknown, teed: unknown, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		saw(io.WriteString(w, "half"))
		saw(http.NewResponseController(w).Flush())
		panic("after")
	}},
	{name: "a handler that aborts", strictly: unknown, teed: unknown, handler: func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		w.WriteHeader(http.StatusCreated)
		panic(http.ErrAbortHandler)
	}},
	{name: "an invalid status", strictly: unknown, teed: unknown, handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		defer func() {
			p := recover()
			saw(p)
			panic(p)
		}()
		w.WriteHeader(99)
	}},
	{name: "an invalid status with a recovered panic", handler: func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		func() {
			defer func() { saw(recover()) }()
			w.WriteHeader(1000)
		}()
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "created")
	}},
}

func writes(text string) func(http.ResponseWriter, *http.Request, func(...any)) {
	return func(w http.ResponseWriter, _ *http.Request, saw func(...any)) { saw(io.WriteString(w, text)) }
}

func fields(n int) func(http.ResponseWriter, *http.Request, func(...any)) {
	return func(w http.ResponseWriter, _ *http.Request, _ func(...any)) {
		for i := range n {
			w.Header().Add(fmt.Sprintf("X-Field-%03d", i), "a")
			w.Header().Add(fmt.Sprintf("X-Field-%03d", i), "b")
		}
		fmt.Fprint(w, n)
	}
}

// hijacks takes the connection over and writes a raw response.
func hijacks(hijack func(http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error)) func(http.ResponseWriter, *http.Request, func(...any)) {
	return func(w http.ResponseWriter, _ *http.Request, saw func(...any)) {
		conn, rw, err := hijack(w)
		saw(err)
		defer conn.Close()
		w.Header().Set("X-Lost", "yes")
		w.WriteHeader(http.StatusTeapot)
		saw(w.Write([]byte("lost")))
		saw(io.WriteString(w, "lost"))
		saw(io.Copy(w, strings.NewReader("lost")))
		_, _, err = hijack(w)
		saw(errors.Is(err, http.ErrHijacked))
		fmt.Fprint(rw, "HTTP/1.1 201 Created\r\nContent-Length: 8\r\n\r\nhijacked")
		saw(rw.Flush())
	}
}
