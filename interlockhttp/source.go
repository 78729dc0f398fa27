package interlockhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
)

// A Source finds the key of a request. Functions such as [Header] return one. The zero
// value finds nothing and is refused.
type Source struct {
	keyLocation
	find func(*request) (string, error)
}

// checkSource refuses a source that finds no key in any request.
func (s *settings) checkSource(source Source) {
	if source.find == nil {
		s.reject("the source of the key is empty: use Header, PathValue or another one, with its arguments")
	}
}

// defaultHeaders lists the fields in which [Once] looks for a key.
var defaultHeaders = []string{"Idempotency-Key", "X-Idempotency-Key", "Idempotent-Token"}

// Header finds the key in one of the header fields. Default: Idempotency-Key,
// X-Idempotency-Key and Idempotent-Token. A request with two different keys is refused,
// and so is one whose Connection field tells proxies to remove the key.
func Header(names ...string) Source {
	if len(names) == 0 {
		names = defaultHeaders
	}
	canonical := make([]string, len(names))
	for i, name := range names {
		if !isToken(name) {
			return Source{}
		}
		canonical[i] = textproto.CanonicalMIMEHeaderKey(name)
	}
	return Source{keyLocation{header: canonical[0], name: "the header " + canonical[0], zh: "请求头 " + canonical[0]},
		func(q *request) (string, error) { return q.header(canonical) }}
}

// header returns the key in the named fields. Equal keys in two fields are accepted, since
// clients send an alias for older servers.
func (q *request) header(names []string) (string, error) {
	found := ""
	for _, name := range names {
		values := q.Header[name]
		if len(values) == 0 {
			continue
		}
		if len(values) > 1 {
			return "", errTwoKeys
		}
		key, err := q.clientKey(values[0], q.settings.requireQuotes)
		switch {
		case err != nil:
			return "", err
		case found != "" && found != key:
			return "", errTwoKeys
		case q.removedByConnection(name):
			return "", fmt.Errorf("the field Connection tells proxies to remove %s", name)
		}
		if found == "" {
			found, q.keyField = key, name
		}
	}
	if found == "" {
		return "", errNoKey
	}
	return found, nil
}

// clientKey parses a key that the client chose. It must have the minimum length for keys
// that all users share.
func (q *request) clientKey(value string, strict bool) (string, error) {
	key, err := parseKey(value, strict)
	if err == nil && len(key) < q.settings.minClientKey {
		err = errShortKey
	}
	return key, err
}

// removedByConnection reports whether the request tells proxies to remove a field. A proxy
// and this server would then disagree about the key.
func (q *request) removedByConnection(name string) bool {
	for _, value := range q.Header["Connection"] {
		for option := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(textproto.TrimString(option), name) {
				return true
			}
		}
	}
	return false
}

// Cookie finds the key in a cookie.
func Cookie(name string) Source {
	if name == "" {
		return Source{}
	}
	return Source{keyLocation{name: "the cookie " + name, zh: " Cookie " + name}, func(q *request) (string, error) {
		cookies := q.CookiesNamed(name)
		switch len(cookies) {
		case 0:
			return "", errNoKey
		case 1:
			return q.clientKey(cookies[0].Value, false)
		}
		return "", errTwoKeys
	}}
}

// PathValue finds the key in the path, as the named wildcard of the route's pattern.
func PathValue(name string) Source {
	if name == "" {
		return Source{}
	}
	return Source{keyLocation{name: "{" + name + "} in the path", zh: "路径中的 {" + name + "}"}, func(q *request) (string, error) { return singleKey(q.PathValue(name)) }}
}

// Query finds the key in the query of the URL.
func Query(name string) Source {
	if name == "" {
		return Source{}
	}
	return Source{keyLocation{name: name + " in the query", zh: "查询串中的 " + name}, func(q *request) (string, error) {
		values, err := url.ParseQuery(q.URL.RawQuery)
		if err != nil {
			return "", err
		}
		found, err := parameter(values, name)
		if err != nil {
			return "", err
		}
		return singleKey(found...)
	}}
}

// parameter returns the values of a name in a query or form. It refuses another name that
// some programs read as the same one: the handler could use that value.
func parameter(values url.Values, name string) ([]string, error) {
	for sent := range values {
		if sent != name && sameParameter(sent, name) {
			return nil, errOtherName
		}
	}
	return values[name], nil
}

var errOtherName = errors.New("the request has a second name that some programs read as the same one")

// sameParameter reports whether some program reads two names as one. ASP.NET ignores case.
// PHP removes spaces before a name, ends it at a NUL, and reads dots and spaces as
// underscores. In PHP and Node.js, name[] and name are one parameter.
func sameParameter(a, name string) bool {
	if !strings.Contains(name, "[") {
		a, _, _ = strings.Cut(a, "[")
	}
	return strings.EqualFold(mangle(a), mangle(name))
}

// mangle returns a name as PHP reads it.
func mangle(name string) string {
	name, _, _ = strings.Cut(strings.TrimLeft(name, " "), "\x00")
	return underscores.Replace(name)
}

var underscores = strings.NewReplacer(".", "_", " ", "_")

// FormField finds the key in a field of the form in the body.
func FormField(name string) Source {
	if name == "" {
		return Source{}
	}
	return Source{keyLocation{name: name + " in the form", zh: "表单中的 " + name}, func(q *request) (string, error) {
		values, err := q.formField(name)
		if err != nil {
			return "", err
		}
		return singleKey(values...)
	}}
}

// JSONField finds the key in the JSON body: "order.items.0.id" is the ID of the first
// item of the order. The value must be a string or a number. A repeated member is
// refused, since programs disagree about which one counts.
func JSONField(path string) Source {
	if path == "" {
		return Source{}
	}
	steps := strings.Split(path, ".")
	return Source{keyLocation{name: path + " in the body", zh: "请求体中的 " + path}, func(q *request) (string, error) {
		body, err := q.plainBody()
		if err != nil {
			return "", err
		}
		value, err := lookupJSON(body, steps)
		if err != nil {
			return "", err
		}
		return singleKey(value)
	}}
}

// BodyField finds the key in the body: as [JSONField] in JSON, and as [FormField] in a
// form. The Content-Type decides, as it does for the handler: a form whose text is also
// JSON is a form.
func BodyField(path string) Source {
	inJSON, inForm := JSONField(path), FormField(path)
	if inJSON.find == nil {
		return Source{}
	}
	return Source{inJSON.keyLocation, func(q *request) (string, error) {
		media, _, err := q.contentType()
		switch {
		case err != nil:
			return "", err
		case media == "application/json" || strings.HasSuffix(media, "+json"):
			return inJSON.find(q)
		}
		return inForm.find(q)
	}}
}

// Func finds the key with a function. An empty string means that the request has no key.
// The function may read the body; the handler still gets it.
func Func(find func(*http.Request) (string, error)) Source {
	if find == nil {
		return Source{}
	}
	return Source{keyLocation{name: "a key", zh: "键"}, func(q *request) (string, error) {
		if err := q.rewind(); err != nil {
			return "", err
		}
		key, err := find(q.Request)
		if err := errors.Join(err, q.rewind()); err != nil {
			return "", err
		}
		return singleKey(key)
	}}
}

// Content uses the content of the request as its key: equal requests are duplicates. It
// is the default of [Submit].
func Content() Source {
	return Source{keyLocation{name: "the request", zh: "请求"}, func(q *request) (string, error) { return q.fingerprint(0) }}
}

// Each combines several keys into one. All of them are required.
func Each(sources ...Source) Source {
	locations := make([]keyLocation, len(sources))
	for i, s := range sources {
		if locations[i] = s.keyLocation; s.find == nil {
			return Source{}
		}
	}
	if len(sources) == 0 {
		return Source{}
	}
	return Source{joinLocations(locations), func(q *request) (string, error) {
		var b strings.Builder
		for _, s := range sources {
			part, err := s.find(q)
			if err != nil {
				return "", fmt.Errorf("%s: %w", s.name, err)
			}
			b.WriteString(strconv.Itoa(len(part)))
			b.WriteByte(':')
			b.WriteString(part)
		}
		return b.String(), nil
	}}
}

// Join combines several keys with a function, which gets them in the order of sources.
// All of them are required.
func Join(join func(r *http.Request, parts []string) (string, error), sources ...Source) Source {
	each := Each(sources...)
	if each.find == nil || join == nil {
		return Source{}
	}
	return Source{each.keyLocation, func(q *request) (string, error) {
		parts := make([]string, len(sources))
		for i, s := range sources {
			part, err := s.find(q)
			if err != nil {
				return "", fmt.Errorf("%s: %w", s.name, err)
			}
			parts[i] = part
		}
		q.restoreBody() // a source may have read the body, and join may parse a form
		key, err := join(q.Request, parts)
		if err != nil {
			return "", err
		}
		return singleKey(key)
	}}
}

// singleKey returns the only value, or an error.
func singleKey(values ...string) (string, error) {
	switch {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return "", errNoKey
	case len(values) > 1:
		return "", errTwoKeys
	}
	return values[0], checkID(values[0])
}

// formField returns the values of a field in the form in the body.
func (q *request) formField(name string) ([]string, error) {
	if q.PostForm != nil { // an outer middleware parsed the form
		return parameter(q.PostForm, name)
	}
	body, err := q.plainBody()
	if err != nil {
		return nil, err
	}
	media, params, err := q.contentType()
	switch {
	case err != nil:
		return nil, err
	case media == "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, err
		}
		return parameter(values, name)
	case media == "multipart/form-data":
		return partsNamed(body, params["boundary"], name)
	}
	return nil, errNoKey
}

// contentType returns the type of the body. Programs disagree about which of two counts,
// so a second one is refused.
func (q *request) contentType() (media string, params map[string]string, err error) {
	values := q.Header["Content-Type"]
	if len(values) > 1 {
		return "", nil, errTwoTypes
	}
	media, params, err = mime.ParseMediaType(strings.Join(values, ""))
	if err != nil {
		return "", nil, errNoKey
	}
	return media, params, nil
}

var (
	errTwoTypes = errors.New("the body has more than one Content-Type")
	errCoding   = errors.New("the body has a Content-Encoding: send it uncompressed")
	errCharset  = errors.New("the body has a charset that does not contain ASCII: use UTF-8")
)

// plainBody returns the body for reading a key in it. The handler could find another key
// in a body that it decompresses, or reads with another charset, so these are refused.
func (q *request) plainBody() ([]byte, error) {
	for _, value := range q.Header["Content-Encoding"] {
		if value != "" && !strings.EqualFold(value, "identity") {
			return nil, errCoding
		}
	}
	if _, params, err := q.contentType(); err == nil && !extendsASCII(params["charset"]) {
		return nil, errCharset
	}
	return q.bufferBody()
}

// extendsASCII reports whether the ASCII characters of a charset are encoded as in ASCII.
// UTF-16, UTF-7 and EBCDIC are not such charsets, and some servers read forms with them.
func extendsASCII(charset string) bool {
	charset = strings.ToLower(charset)
	for _, start := range []string{"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-", "latin", "windows-", "cp125", "gb", "big5", "euc-", "shift_jis", "koi8-"} {
		if strings.HasPrefix(charset, start) {
			return true
		}
	}
	return charset == ""
}

var (
	errNoName   = errors.New("a part of the form has no name that can be read")
	errEncoding = errors.New("the part of the form has a Content-Transfer-Encoding, which few programs decode")
)

// partsNamed returns the values with that name in a multipart form. It refuses parts that
// programs read in different ways.
func partsNamed(body []byte, boundary, name string) (values []string, err error) {
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for n := 0; ; n++ {
		p, err := parts.NextRawPart()
		switch {
		case errors.Is(err, io.EOF):
			return values, nil
		case err != nil:
			return nil, err
		case n == maxParts:
			return nil, multipart.ErrMessageTooLarge
		case p.FormName() == "":
			return nil, errNoName
		case p.FileName() != "" || !sameParameter(p.FormName(), name):
			continue
		case p.FormName() != name:
			return nil, errOtherName
		case encoded(p.Header):
			return nil, errEncoding
		}
		text, err := io.ReadAll(io.LimitReader(p, maxKey+1))
		if err != nil {
			return nil, err
		}
		values = append(values, string(text))
	}
}

// encoded reports whether a part is encoded for mail. Package multipart decodes
// quoted-printable, and other programs decode nothing.
func encoded(h textproto.MIMEHeader) bool {
	for _, value := range h["Content-Transfer-Encoding"] {
		switch strings.ToLower(strings.TrimSpace(value)) {
		case "7bit", "8bit", "binary":
		default:
			return true
		}
	}
	return false
}
