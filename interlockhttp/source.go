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

// A Source is where the key of a request is found.
type Source struct {
	name string // for whoever sent none
	find func(*request) (string, error)
}

// DefaultHeaders are the fields in which [Once] looks for a key.
var defaultHeaders = []string{"Idempotency-Key", "X-Idempotency-Key", "Idempotent-Token"}

// Header finds the key in a header field; which ones is for the caller to say, and
// the default is Idempotency-Key, X-Idempotency-Key and Idempotent-Token. A request
// with two different keys is refused, and so is one that tells proxies to remove
// the field.
func Header(names ...string) Source {
	if len(names) == 0 {
		names = defaultHeaders
	}
	canonical := make([]string, len(names))
	for i, name := range names {
		canonical[i] = textproto.CanonicalMIMEHeaderKey(name)
	}
	return Source{canonical[0], func(r *request) (string, error) { return r.header(canonical) }}
}

func (r *request) header(names []string) (string, error) {
	found := ""
	for _, name := range names {
		values := r.Header[name]
		if len(values) == 0 {
			continue
		}
		if len(values) > 1 {
			return "", errTwoKeys
		}
		key, err := parseKey(values[0], r.settings.strict)
		switch {
		case err != nil:
			return "", err
		case found != "" && found != key:
			return "", errTwoKeys
		case r.dropped(name):
			return "", fmt.Errorf("the field Connection says to remove %s", name)
		}
		if found == "" {
			found, r.echo = key, name
		}
	}
	if found == "" {
		return "", errNoKey
	}
	return found, nil
}

// dropped tells whether the request asks proxies to remove a field: they and we
// would not agree about what it is.
func (r *request) dropped(name string) bool {
	for _, value := range r.Header["Connection"] {
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
	return Source{"the cookie " + name, func(r *request) (string, error) {
		cookies := r.CookiesNamed(name)
		switch len(cookies) {
		case 0:
			return "", errNoKey
		case 1:
			return parseKey(cookies[0].Value, false)
		}
		return "", errTwoKeys
	}}
}

// PathValue finds the key in the path: in what a wildcard of the route's pattern
// matched.
func PathValue(name string) Source {
	return Source{"{" + name + "} in the path", func(r *request) (string, error) { return only(r.PathValue(name)) }}
}

// Query finds the key in the query of the URL.
func Query(name string) Source {
	return Source{name + " in the query", func(r *request) (string, error) {
		values, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return "", err
		}
		return only(values[name]...)
	}}
}

// FormField finds the key in a field of the form that is the body.
func FormField(name string) Source {
	return Source{name + " in the form", func(r *request) (string, error) {
		values, err := r.formField(name)
		if err != nil {
			return "", err
		}
		return only(values...)
	}}
}

// JSONField finds the key in the JSON body: "order.items.0.id" is the ID of the
// first item of the order. It must be a text or a number, and there only once:
// which of two counts is something that programs do not agree on.
func JSONField(path string) Source {
	steps := strings.Split(path, ".")
	return Source{path + " in the body", func(r *request) (string, error) {
		body, err := r.buffered()
		if err != nil {
			return "", err
		}
		value, err := lookUp(body, steps)
		if err != nil {
			return "", err
		}
		return only(value)
	}}
}

// Func finds the key by a function of the caller's. An empty key means that there
// is none. The function may read the body; the handler gets it all the same.
func Func(find func(*http.Request) (string, error)) Source {
	return Source{"a key", func(r *request) (string, error) {
		if err := r.rewind(); err != nil {
			return "", err
		}
		key, err := find(r.Request)
		if err := errors.Join(err, r.rewind()); err != nil {
			return "", err
		}
		return only(key)
	}}
}

// Content makes the request its own key: two that say the same are the same. It is
// what [Submit] goes by, unless it is told otherwise.
func Content() Source {
	return Source{"the request", func(r *request) (string, error) { return r.fingerprint(0) }}
}

// Each makes a key of several: all of them must be there.
func Each(sources ...Source) Source {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.name
	}
	return Source{strings.Join(names, " and "), func(r *request) (string, error) {
		var b strings.Builder
		for _, s := range sources {
			part, err := s.find(r)
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

// only returns the one value there is.
func only(values ...string) (string, error) {
	switch {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return "", errNoKey
	case len(values) > 1:
		return "", errTwoKeys
	}
	return values[0], checkID(values[0])
}

// formField returns the values of a field in the form that is the body.
func (r *request) formField(name string) ([]string, error) {
	if r.PostForm != nil { // somebody has read the form before us
		return r.PostForm[name], nil
	}
	body, err := r.buffered()
	if err != nil {
		return nil, err
	}
	media, params, err := mime.ParseMediaType(r.Request.Header.Get("Content-Type"))
	switch {
	case err == nil && media == "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(body))
		return values[name], err
	case err == nil && media == "multipart/form-data":
		return partsNamed(body, params["boundary"], name)
	}
	return nil, errNoKey
}

// partsNamed returns the parts of a multipart form that have a name.
func partsNamed(body []byte, boundary, name string) (values []string, err error) {
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		if p.FormName() != name || p.FileName() != "" {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(p, mostKey+1))
		if err != nil {
			return nil, err
		}
		values = append(values, string(text))
	}
}
