package interlockhttp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A reply is a raw response, with details that http.Client hides.
type reply struct {
	early   []string // 1xx responses, with their fields
	status  string
	fields  []string // "Name: value", in order of their names
	framing string   // how the client knows where the body ends
	body    string
	short   bool // the connection ended before the body
	trailer []string
	open    bool // the connection can be used again
}

// exchangeTimeout is longer than any exchange takes.
const exchangeTimeout = 10 * time.Second

// exchange sends a raw request and reads the response.
func exchange(t *testing.T, address, request string) reply {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(exchangeTimeout))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(conn)
	var r reply
	if err := r.read(br); err != nil {
		var netErr net.Error
		if errors.As(err, &netErr) && netErr.Timeout() {
			t.Fatal(err)
		}
		return r
	}
	if r.framing != "the end" {
		fmt.Fprint(conn, "GET /ping HTTP/1.1\r\nHost: shop\r\n\r\n")
		line, _ := br.ReadString('\n')
		r.open = strings.Contains(line, "200")
	}
	return r
}

func (r *reply) read(br *bufio.Reader) error {
	tp := textproto.NewReader(br)
	for {
		line, err := tp.ReadLine()
		if err != nil {
			return err
		}
		fields, err := readFields(tp)
		if err != nil {
			return err
		}
		_, status, _ := strings.Cut(line, " ")
		if strings.HasPrefix(status, "1") && !strings.HasPrefix(status, "101") {
			early := reply{fields: fields}
			r.early = append(r.early, status+" "+strings.Join(early.without("X-Outer:"), ", "))
			continue
		}
		r.status, r.fields = status, fields
		return r.readBody(br, tp)
	}
}

func readFields(tp *textproto.Reader) (fields []string, err error) {
	for {
		line, err := tp.ReadLine()
		if err != nil {
			return nil, err
		}
		if line == "" {
			slices.Sort(fields)
			return fields, nil
		}
		fields = append(fields, line)
	}
}

func (r *reply) readBody(br *bufio.Reader, tp *textproto.Reader) error {
	length, counted := r.field("Content-Length")
	coding, _ := r.field("Transfer-Encoding")
	var body []byte
	var err error
	switch {
	case strings.HasPrefix(r.status, "204") || strings.HasPrefix(r.status, "304") || r.says("Upgrade: silence"):
		r.framing = "none"
	case coding == "chunked":
		r.framing = "chunks"
		if body, err = io.ReadAll(httputil.NewChunkedReader(br)); err == nil {
			r.trailer, err = readFields(tp)
		}
	case counted:
		r.framing = "length"
		n, bad := strconv.ParseInt(length, 10, 64)
		if bad != nil {
			return bad
		}
		if body, err = io.ReadAll(io.LimitReader(br, n)); err == nil && int64(len(body)) < n {
			err = io.ErrUnexpectedEOF
		}
	default:
		r.framing = "the end"
		body, err = io.ReadAll(br)
	}
	r.body, r.short = string(body), err != nil
	return err
}

// field returns the value of a field, by its exact name.
func (r *reply) field(name string) (string, bool) {
	for _, f := range r.fields {
		if value, ok := strings.CutPrefix(f, name+": "); ok {
			return value, true
		}
	}
	return "", false
}

func (r *reply) says(field string) bool { return slices.Contains(r.fields, field) }

// without returns the fields except those with the given prefixes.
func (r *reply) without(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(r.fields), func(f string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return len(f) >= len(name) && strings.EqualFold(f[:len(name)], name)
		})
	})
}

// String formats a reply on one line, with a shortened body.
func (r *reply) String() string {
	body := r.body
	if len(body) > 60 {
		body = fmt.Sprintf("%.60s… (%d bytes)", body, len(body))
	}
	return fmt.Sprintf("%q %s %q, body by %s: %q (short: %v), trailer %q, open: %v",
		r.early, r.status, r.fields, r.framing, body, r.short, r.trailer, r.open)
}
