package interlockhttp

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// whole is an answer with something in every part of it.
func whole() *Response {
	return &Response{
		Status: 201, Body: []byte("order 7"),
		Header:  http.Header{"Location": {"/orders/7"}, "Link": {"</a>", "</b>"}, "Content-Type": nil, "Etag": {`"1"`}, "Vary": {"Accept"}},
		Trailer: http.Header{"X-Sum": {"42"}, "X-Time": {"7"}, "X-More": {"1", "2"}},
	}
}

func TestAStoredResponseIsDecodedUnchanged(t *testing.T) {
	for range 20 { // a map has no order
		data, err := whole().MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var got *Response
		if err := (wire{}).Unmarshal(data, &got); err != nil || !equal(got, whole()) {
			t.Fatalf("it became %+v, %v", got, err)
		}
		clear(data) // which is the engine's
		if !equal(got, whole()) {
			t.Fatalf("it shares its memory with what is stored: %+v", got)
		}
	}
}

// What was stored by a later release, or is broken, is not taken for an answer.
func TestMalformedStoredResponsesAreRefused(t *testing.T) {
	data, err := whole().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	later := append([]byte{wireVersion + 1}, data[1:]...)
	head := func(status ...byte) []byte { return append([]byte{wireVersion}, append(status, 0, 0, 0, 0)...) }
	for name, data := range map[string][]byte{
		"nothing":                    nil,
		"one of another version":     later,
		"one with something behind":  append(slices.Clip(data), 0),
		"one that is no status yet":  head(99),
		"one that is none any more":  head(0xe8, 0x07), // 1000
		"one with a field twice":     append([]byte{wireVersion, 0xc8, 1, 0, 2}, 1, 'a', 0, 1, 'a', 0, 0, 0),
		"one with fields in a mess":  append([]byte{wireVersion, 0xc8, 1, 0, 2}, 1, 'b', 0, 1, 'a', 0, 0, 0),
		"one with a count too large": append([]byte{wireVersion, 0xc8, 1, 0, 9}, 1, 'a', 0, 0, 0),
	} {
		var got *Response
		if err := (wire{}).Unmarshal(data, &got); err == nil || got != nil {
			t.Errorf("%s is %+v", name, got)
		}
	}
	for n := range data {
		var got *Response
		if err := (wire{}).Unmarshal(data[:n], &got); err == nil {
			t.Errorf("%d bytes of %d are an answer", n, len(data))
		}
	}
	var got *Response
	if err := (wire{}).Unmarshal(head(0xc8, 1), &got); err != nil || got.Status != 200 {
		t.Errorf("the least that is one is %+v, %v", got, err)
	}
}

func TestInvalidResponsesAreNotStored(t *testing.T) {
	for _, status := range []int{-1, 0, 99, 1000} {
		if data, err := (&Response{Status: status}).MarshalBinary(); err == nil {
			t.Errorf("%d is stored as %q", status, data)
		}
	}
	omitted := whole()
	omitted.Omitted = private
	if data, err := omitted.MarshalBinary(); err != nil || strings.Contains(string(data), "order 7") || strings.Contains(string(data), "X-Sum") {
		t.Errorf("what is not to be kept is stored: %q, %v", data, err)
	}
}
