package interlockhttp

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// fingerprintOf returns the fingerprint of a request.
func fingerprintOf(t *testing.T, method, path, query, kind string, body []byte) string {
	t.Helper()
	r := &http.Request{
		Method: method, URL: &url.URL{Path: path, RawQuery: query}, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {kind}}, Body: http.NoBody,
	}
	q := &request{Request: r, settings: newSettings(nil)}
	q.body.data, q.body.done = body, true
	sum, err := q.fingerprint(0)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// FuzzFingerprint checks that two requests have the same fingerprint if and only if their
// content is equal.
func FuzzFingerprint(f *testing.F) {
	f.Fuzz(func(t *testing.T, method1, path1, query1, kind1 string, body1 []byte, method2, path2, query2, kind2 string, body2 []byte) {
		first := fingerprintOf(t, method1, path1, query1, kind1, body1)
		second := fingerprintOf(t, method2, path2, query2, kind2, body2)
		if first != fingerprintOf(t, method1, path1, query1, kind1, bytes.Clone(body1)) {
			t.Error("the same request has another fingerprint")
		}
		if strings.HasPrefix(strings.ToLower(kind1), "multipart/") || strings.HasPrefix(strings.ToLower(kind2), "multipart/") {
			return // the boundary changes its bytes; see FuzzFingerprintOfParts
		}
		same := method1 == method2 && (&url.URL{Path: path1}).EscapedPath() == (&url.URL{Path: path2}).EscapedPath() &&
			sameQuery(query1, query2) && kind1 == kind2 && bytes.Equal(body1, body2)
		if (first == second) != same {
			t.Errorf("%s %s?%s %s %q and %s %s?%s %s %q have the same fingerprint: %v",
				method1, path1, query1, kind1, body1, method2, path2, query2, kind2, body2, first == second)
		}
	})
}

func sameQuery(a, b string) bool {
	first, err1 := url.ParseQuery(a)
	second, err2 := url.ParseQuery(b)
	if err1 != nil || err2 != nil {
		return a == b
	}
	return reflect.DeepEqual(first, second)
}

// FuzzFingerprintOfParts encodes each form with two boundaries, which must not change the
// fingerprint. Another file or a truncated body must.
func FuzzFingerprintOfParts(f *testing.F) {
	f.Fuzz(func(t *testing.T, name, value, file, text, other string, cut int) {
		kind, body := upload(t, name, value, file, text)
		if _, ok := partsOf(kind, body); !ok {
			return // a name that no form can have
		}
		kind2, body2 := upload(t, name, value, file, text)
		first := fingerprintOf(t, http.MethodPost, "/", "", kind, body)
		if first != fingerprintOf(t, http.MethodPost, "/", "", kind2, body2) {
			t.Error("the same form with another boundary has another fingerprint")
		}
		kind3, body3 := upload(t, name, value, file, other)
		if (first == fingerprintOf(t, http.MethodPost, "/", "", kind3, body3)) != (text == other) {
			t.Errorf("files with %q and %q have the same fingerprint: %v, want %v", text, other, text != other, text == other)
		}
		// A form without its last line is truncated.
		last := bytes.LastIndex(body, []byte("\r\n--"))
		if n := max(0, cut) % (last + 1); first == fingerprintOf(t, http.MethodPost, "/", "", kind, body[:n]) {
			t.Errorf("the first %d of %d bytes have the fingerprint of the whole form", n, len(body))
		} else if n > 0 && fingerprintOf(t, http.MethodPost, "/", "", kind, body[:n]) == fingerprintOf(t, http.MethodPost, "/", "", kind, body[:n-1]) {
			t.Errorf("the first %d and the first %d bytes have the same fingerprint", n, n-1)
		}
	})
}

// upload returns a multipart form, with its type.
func upload(t *testing.T, name, value, file, text string) (string, []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", multipart.FileContentDisposition("upload", file))
	part, err := w.CreatePart(head)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteField(name, value); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}
