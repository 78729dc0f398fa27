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

// The forms in which a problem is told.
const (
	problemJSON = "application/problem+json"
	plainJSON   = "application/json"
	plainText   = "text/plain"
)

// ServeHTTP answers a request with the problem: in English or Chinese, or in a
// language of [Problem.Message], by Accept-Language; and by Accept as
// application/problem+json, or as the same under the name application/json for
// clients that take that and not the other, or as text for those that like
// text/plain better than either. A client that takes none of them, such as one that
// wants HTML alone, gets problem+json.
//
// Headers that speak of another answer, Content-Encoding and ETag among them, are
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
		_, _ = w.Write(body) // a client that has left is not told
	}
}

// negotiate returns the form that an Accept header likes best. That JSON comes as
// problem+json bothers no client that takes both.
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

// mediaQuality returns how much a media type is wanted: what names it counts before what
// names its family, and that before an asterisk. Parameters do not count, since
// clients ask for application/json;charset=utf-8 and mean JSON.
func mediaQuality(ranges []acceptRange, media string) float64 {
	family, _, _ := strings.Cut(media, "/")
	for _, name := range []string{media, family + "/*", "*/*"} {
		most := -1.0
		for _, r := range ranges {
			if r.name == name {
				most = max(most, r.q)
			}
		}
		if most >= 0 {
			return most
		}
	}
	return 0
}

// removeEntityHeaders removes what a handler has said of an answer that is not given.
func removeEntityHeaders(h http.Header) {
	for _, name := range []string{
		"Content-Type", "Content-Encoding", "Content-Language", "Content-Length", "Content-Range",
		"Content-Disposition", "Content-Location", "Content-Digest", "Repr-Digest", "Digest",
		"Accept-Ranges", "ETag", "Last-Modified", "Expires", "Location", "Retry-After", "Trailer", "Transfer-Encoding",
	} {
		h.Del(name)
	}
	maps.DeleteFunc(h, func(name string, _ []string) bool { return strings.HasPrefix(name, http.TrailerPrefix) })
}

// setHeaders writes the headers that are the same in every form and language.
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

// uri returns the type of the problem.
func (p *Problem) uri() string { return escaped(cmp.Or(p.Docs, DefaultDocs) + "#" + string(p.Code)) }

// members are the problem as it is sent, in the order in which they are.
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

// body returns what is sent. JSON replaces what is not UTF-8, and escapes what could
// be taken for HTML.
func (p *Problem) body(form string, text problemText) []byte {
	if form == plainText {
		return []byte(printable(fmt.Sprintf("%s\n%s\n%s\n", text.title, text.detail, p.uri())))
	}
	body, _ := json.Marshal(members{ // which has nothing that cannot be encoded
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

// ceilUnits returns a duration in whole units, rounded up, so that nobody comes too
// early. One that is negative is zero.
func ceilUnits(d, unit time.Duration) int64 {
	n := d / unit
	if d%unit > 0 {
		n++
	}
	return int64(max(n, 0))
}

// formatTime returns a time as in RFC 3339, to the millisecond, or nothing if that has no
// way to write it.
func formatTime(t time.Time) string {
	t = t.UTC()
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return ""
	}
	return t.Format("2006-01-02T15:04:05.999Z07:00")
}

// escaped returns s with a percent sign and digits for each byte that a URI, and so a
// header, cannot hold.
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

// printable returns s without what a terminal could take for a command, and without
// what is not UTF-8.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
