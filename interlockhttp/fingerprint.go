package interlockhttp

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// A digest hashes the parts of a request, each with its length.
type digest struct {
	buf  []byte
	hash hash.Hash // nil until the buffer is full, unless there is a secret
}

// digests reuses buffers: most requests fit into one, and are hashed without allocating.
var digests = sync.Pool{New: func() any { return &digest{buf: make([]byte, 0, 2048)} }}

// newDigest takes a digest from the pool; the caller puts it back.
func newDigest(secret []byte) *digest {
	d := digests.Get().(*digest)
	d.buf, d.hash = d.buf[:0], nil
	if secret != nil {
		d.hash = hmac.New(sha256.New, secret)
	}
	return d
}

// part hashes the length of s and s, so that the borders between parts count.
func (d *digest) part(s string) {
	d.length(len(s))
	d.text(s)
}

// bytes is part for a byte slice. It does not copy a body that exceeds the buffer.
func (d *digest) bytes(b []byte) {
	d.length(len(b))
	if len(d.buf)+len(b) <= cap(d.buf) {
		d.buf = append(d.buf, b...)
		return
	}
	d.spill()
	d.hash.Write(b)
}

func (d *digest) length(n int) {
	if len(d.buf)+8 > cap(d.buf) {
		d.spill()
	}
	d.buf = binary.BigEndian.AppendUint64(d.buf, uint64(n)) //nolint:gosec // a length
}

func (d *digest) text(s string) {
	if len(d.buf)+len(s) <= cap(d.buf) {
		d.buf = append(d.buf, s...)
		return
	}
	d.spill()
	_, _ = io.WriteString(d.hash, s)
}

// spill moves the buffer into the hash, which is created when it is first needed.
func (d *digest) spill() {
	if d.hash == nil {
		d.hash = sha256.New()
	}
	d.hash.Write(d.buf)
	d.buf = d.buf[:0]
}

func (d *digest) sum() string {
	if d.hash == nil {
		sum := sha256.Sum256(d.buf)
		d.buf = append(d.buf[:0], sum[:]...)
	} else {
		d.spill()
		d.buf = d.hash.Sum(d.buf[:0])
	}
	var buf [64]byte
	return string(base64.RawURLEncoding.AppendEncode(buf[:0], d.buf))
}

// fingerprintVersion is part of every fingerprint. Change it together with what the
// fingerprint covers.
const fingerprintVersion = "2"

// errBodyGone reports a mistake in the middleware chain. All bodies would look equal, and
// one request would get the response of another.
var errBodyGone = errors.New("another middleware consumed the body and did not restore it; put this middleware in front of that one")

// fingerprint hashes the content of a request: method, route, path, query, some fields, and
// the whole body with its type. It uses the n-th secret, or no secret if there are fewer.
func (q *request) fingerprint(n int) (string, error) {
	body, err := q.bufferBody()
	if err != nil {
		return "", err
	}
	var secret []byte
	if n < len(q.settings.secrets) {
		secret = q.settings.secrets[n]
	}
	d := newDigest(secret)
	defer digests.Put(d)
	if custom := q.settings.fingerprint; custom != nil {
		if err := q.rewind(); err != nil { // the function may parse a form, and runs once per secret
			return "", err
		}
		d.bytes(custom(q.Request, body))
		return d.sum(), nil
	}
	if q.ContentLength > 0 && len(body) == 0 && len(q.PostForm) == 0 && q.MultipartForm == nil {
		return "", &bodyError{errBodyGone}
	}
	d.part(fingerprintVersion)
	d.part(q.Method)
	d.part(unnamed(q.Pattern))
	d.part(q.path())
	d.query(q.URL.RawQuery, q.settings.ignoredQuery)
	d.content(q.Request, body)
	// A missing field adds nothing, so that more names can be added later.
	for _, name := range q.settings.fingerprintHeaders {
		if values := q.Header[name]; len(values) > 0 {
			d.field(name, values)
		}
	}
	return d.sum(), nil
}

// path returns the path, followed by the sent path if the two differ: two paths that
// [http.StripPrefix] made equal are different requests.
func (q *request) path() string {
	path := q.URL.EscapedPath()
	sent, _, _ := strings.Cut(q.RequestURI, "?")
	if !strings.HasPrefix(sent, "/") {
		u, err := url.ParseRequestURI(sent) // absolute form, as sent to proxies
		if err != nil {
			return path
		}
		sent = u.EscapedPath()
	}
	if sent == path || sent == "" { // "" for the asterisk form
		return path
	}
	return path + "\n" + sent
}

// query hashes the query, sorted by name. The order of values with the same name counts.
func (d *digest) query(raw string, ignored []string) {
	if raw == "" {
		d.length(0)
		return
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		d.length(-1) // differs from every number of names
		d.part(raw)  // a malformed query counts as text
		return
	}
	for _, name := range ignored {
		delete(values, name)
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	d.length(len(names))
	for _, name := range names {
		d.field(name, values[name])
	}
}

// content hashes the body and its type. A compressed body is hashed as received. Each way
// of hashing starts with its own name, so that their results never collide.
func (d *digest) content(r *http.Request, body []byte) {
	kind := strings.Join(r.Header["Content-Type"], ", ")
	d.part(strings.Join(r.Header["Content-Encoding"], ", "))
	if r.PostForm != nil && len(body) == 0 {
		d.part("form")
		d.form(r) // an outer middleware parsed it
		return
	}
	if len(kind) > 10 && strings.EqualFold(kind[:10], "multipart/") {
		if sum, ok := partsOf(kind, body); ok {
			d.part("parts")
			d.part(sum)
			return
		}
	}
	d.part("body")
	d.part(kind)
	d.bytes(body)
}

// maxParts bounds the parts of a multipart body. net/http accepts a thousand; an empty
// part costs a microsecond and nine bytes.
const maxParts = 10_000

// partsOf hashes a multipart body part by part, since the boundary differs between tries.
// It reports false if the body is malformed.
func partsOf(kind string, body []byte) (string, bool) {
	media, params, err := mime.ParseMediaType(kind)
	if err != nil {
		return "", false
	}
	d := newDigest(nil)
	defer digests.Put(d)
	if !isComplete(body, params["boundary"]) {
		return "", false
	}
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	delete(params, "boundary")
	d.part(media)
	d.length(len(params))
	for _, name := range slices.Sorted(maps.Keys(params)) {
		d.part(name)
		d.part(params[name])
	}
	for n := 0; ; n++ {
		p, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return d.sum(), true
		}
		if err != nil || n == maxParts {
			return "", false
		}
		text, err := io.ReadAll(p)
		if err != nil {
			return "", false
		}
		d.length(len(p.Header))
		eachField(http.Header(p.Header), d.field)
		d.bytes(text)
	}
}

// isComplete reports whether a multipart body has its final boundary. Package multipart
// does not tell a truncated body from a complete one.
func isComplete(body []byte, boundary string) bool {
	end := []byte("\n--" + boundary + "--")
	return bytes.HasPrefix(body, end[1:]) || bytes.Contains(body, end)
}

func (d *digest) field(name string, values []string) {
	d.part(name)
	d.length(len(values))
	for _, value := range values {
		d.part(value)
	}
}

// form hashes a form that an outer middleware parsed.
func (d *digest) form(r *http.Request) {
	d.query(r.PostForm.Encode(), nil)
	if r.MultipartForm == nil {
		return
	}
	names := make([]string, 0, len(r.MultipartForm.File))
	for name := range r.MultipartForm.File {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, file := range r.MultipartForm.File[name] {
			d.part(name)
			d.part(file.Filename)
			d.file(file)
		}
	}
}

// file hashes the content of an uploaded file, which may be larger than memory. For a file
// that cannot be read it hashes the error instead, so that the file equals no readable one.
func (d *digest) file(header *multipart.FileHeader) {
	f, err := header.Open()
	if err != nil {
		d.part(err.Error())
		return
	}
	defer f.Close() //nolint:errcheck // read-only
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		d.part(err.Error())
		return
	}
	d.bytes(sum.Sum(nil))
}
