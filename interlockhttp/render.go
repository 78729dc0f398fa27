package interlockhttp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The media types of a problem.
const (
	problemJSON = "application/problem+json"
	plainJSON   = "application/json"
	plainText   = "text/plain"
)

// ServeHTTP sends the problem. Accept-Language selects English, Chinese or a language of
// [Problem.Message]. Accept selects the media type: application/problem+json;
// application/json for clients that accept only that; or text/plain for clients that
// prefer it. A client that accepts none of them gets problem+json.
//
// Header fields that describe another body, such as Content-Encoding and ETag, are
// removed; the others stay. Neither the key nor [Problem.Err] is sent.
func (p *Problem) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	language, text := p.localize(r.Header.Values("Accept-Language"))
	form := negotiate(r.Header.Values("Accept"))
	body := p.body(form, text)

	h := w.Header()
	removeEntityHeaders(h)
	p.setHeaders(h)
	if isTag(language) {
		h.Set("Content-Language", language)
	}
	if form == plainText {
		form += "; charset=utf-8"
	}
	h.Set("Content-Type", form)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status())
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have disconnected
	}
}

// negotiate returns the media type that an Accept header prefers. A client that accepts
// both kinds of JSON gets problem+json.
func negotiate(accept []string) string {
	ranges := parseAccept(accept)
	problem, plain, text := mediaQuality(ranges, problemJSON), mediaQuality(ranges, plainJSON), mediaQuality(ranges, plainText)
	switch {
	case text > max(problem, plain):
		return plainText
	case problem == 0 && plain > 0:
		return plainJSON
	}
	return problemJSON
}

// mediaQuality returns the quality of a media type. An exact range takes precedence over
// type/*, and that over */*. Parameters are ignored, since clients send
// application/json;charset=utf-8 and mean JSON.
func mediaQuality(ranges []acceptRange, media string) float64 {
	family, _, _ := strings.Cut(media, "/")
	for _, name := range []string{media, family + "/*", "*/*"} {
		best := -1.0
		for _, r := range ranges {
			if r.name == name {
				best = max(best, r.q)
			}
		}
		if best >= 0 {
			return best
		}
	}
	return 0
}

// removeEntityHeaders removes fields that describe a body other than the problem.
func removeEntityHeaders(h http.Header) {
	for _, name := range []string{
		"Content-Type", "Content-Encoding", "Content-Language", "Content-Length", "Content-Range",
		"Content-Disposition", "Content-Location", "Content-Digest", "Repr-Digest", "Digest",
		"Accept-Ranges", "ETag", "Last-Modified", "Expires", "Location", "Retry-After", "Trailer", "Transfer-Encoding",
	} {
		h.Del(name)
	}
	// Trailers that the handler set in advance would follow the problem.
	maps.DeleteFunc(h, func(name string, _ []string) bool { return strings.HasPrefix(name, http.TrailerPrefix) })
}

// setHeaders sets the fields that do not depend on media type and language.
func (p *Problem) setHeaders(h http.Header) {
	if p.Retryable {
		h.Set("Retry-After", strconv.FormatInt(max(ceilUnits(p.RetryAfter, time.Second), 1), 10))
	}
	if p.Location != "" && strings.IndexFunc(p.Location, unicode.IsControl) < 0 {
		h.Set("Location", escaped(p.Location))
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Link", fmt.Sprintf(`<%s>; rel="describedby"; type="text/html"`, p.uri()))
	h.Add("Vary", "Accept, Accept-Language")
}

// uri returns the type URI of the problem.
func (p *Problem) uri() string { return escaped(cmp.Or(p.Docs, DefaultDocs) + "#" + string(p.Code)) }

// members is the JSON form of a problem, in the order of its fields.
type members struct {
	Type           string `json:"type"`
	Title          string `json:"title"`
	Status         int    `json:"status"`
	Detail         string `json:"detail"`
	Code           Code   `json:"code"`
	Retryable      bool   `json:"retryable"`
	SameKey        bool   `json:"same_key"`
	RetryAfterMS   int64  `json:"retry_after_ms,omitempty"`
	FirstSeen      string `json:"first_seen,omitempty"`
	OriginalStatus int    `json:"original_status,omitempty"`
}

// body returns the encoded problem. encoding/json replaces invalid UTF-8 and escapes HTML.
func (p *Problem) body(form string, text problemText) []byte {
	if form == plainText {
		return []byte(printable(fmt.Sprintf("%s\n%s\n%s\n", text.title, text.detail, p.uri())))
	}
	body, _ := json.Marshal(members{ // strings and numbers always encode
		Type:           p.uri(),
		Title:          text.title,
		Status:         p.status(),
		Detail:         text.detail,
		Code:           p.Code,
		Retryable:      p.Retryable,
		SameKey:        p.SameKey,
		RetryAfterMS:   ceilUnits(p.RetryAfter, time.Millisecond),
		FirstSeen:      formatTime(p.FirstSeen),
		OriginalStatus: p.OriginalStatus,
	})
	return append(body, '\n')
}

// ceilUnits returns a duration in whole units, rounded up, so that a client does not retry
// too early. A negative duration is zero.
func ceilUnits(d, unit time.Duration) int64 {
	n := d / unit
	if d%unit > 0 {
		n++
	}
	return int64(max(n, 0))
}

// formatTime formats a time as RFC 3339 with milliseconds; "" for years that RFC 3339
// cannot express.
func formatTime(t time.Time) string {
	t = t.UTC()
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return ""
	}
	return t.Format("2006-01-02T15:04:05.999Z07:00")
}

// escaped percent-encodes the bytes that a URI, and so a header, cannot contain.
func escaped(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// printable replaces control characters, which a terminal could execute, and invalid
// UTF-8.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
